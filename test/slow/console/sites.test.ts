import type { Page } from "playwright-core";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { SiteMode } from "../../../gen/mooring/v1/site_pb.js";
import { startStandIn } from "../../sites/stand-in.ts";
import { startedForEach } from "../../started.ts";
import { consoleTest, enterAt, tabTo, visit } from "./console.ts";

const console = consoleTest();
const site = startedForEach(startStandIn);

afterEach(async () => {
  const { sites } = await console.sites.listSites({});
  for (const { name } of sites) await console.sites.deleteSite({ name });
});

/** Opens the form of a new site. */
async function fillSite(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Add a site" }).click();
  await page.getByLabel("Name").fill("harbour");
  await page.getByLabel("Address").fill(site.url);
}

/** A page with the site, added by its form. */
async function addedSite(): Promise<Page> {
  const page = await console.enter("sites");
  await fillSite(page);
  await addSite(page, site.token());
  await page.getByRole("heading", { name: "harbour" }).waitFor();
  return page;
}

async function remove(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("button", { name: "Remove now" }).click();
  await page.getByText("There are no sites.").waitFor();
}

async function addSite(page: Page, token: string): Promise<void> {
  await page.getByLabel("Its admin token").fill(token);
  await page.locator("dialog").getByRole("button", { name: "Add a site" }).click();
}

describe("sites", () => {
  test("are added, compared, synced and removed", async () => {
    const page = await console.enter("sites");
    await page.getByText("There are no sites.").waitFor();
    await fillSite(page);
    await addSite(page, "a-wrong-token");
    await page.locator("dialog .notice.wrong, dialog .wrong:not(:empty)").first().waitFor();
    await addSite(page, site.token());
    await page.getByRole("heading", { name: "harbour" }).waitFor();

    await page.getByRole("button", { name: /^Adopt its/ }).waitFor();
    // It is one of the things to check.
    await visit(page, "");
    await page.locator(".lines li", { hasText: "harbour" }).getByRole("link").click();
    await page.getByRole("button", { name: /^Adopt its/ }).click();
    await page
      .locator("dialog")
      .getByRole("button", { name: /^Adopt its/ })
      .click();
    await page.getByText("No differences: the site is up to date.").waitFor();
    await console.change("site_title", "From the console");
    await page.getByRole("button", { name: "Check now" }).click();
    await page.locator(".side.added", { hasText: "From the console" }).waitFor();
    expect(site.value("site_title")).not.toBe("From the console");
    await page.getByRole("button", { name: "Write 1 value to the site" }).click();
    await page.locator("dialog", { hasText: "site_title" }).waitFor();
    await page.locator("dialog").getByRole("button", { name: "Write 1 value" }).click();
    await page.getByText("No differences: the site is up to date.").waitFor();
    expect(site.value("site_title")).toBe("From the console");

    await page.getByRole("button", { name: "Follow" }).click();
    await page.getByRole("button", { name: "Only compare" }).waitFor();
    await remove(page);
  });

  test("that are down are shown with the reason, here and on the first page", async () => {
    const page = await addedSite();
    await site.stop();
    await page.getByRole("button", { name: "Check now" }).click();
    await page.getByText("connection refused").first().waitFor();
    await visit(page, "");
    await page.locator(".lines li", { hasText: "harbour" }).getByRole("link").click();
    await page.getByText("connection refused").first().waitFor();
    // The texts of the service change with the language too, without a reload.
    await page.locator(".menu select").selectOption("zh-CN");
    await page.getByText("connection refused").first().waitFor({ state: "detached" });
    await page.locator(".menu select").selectOption("en");
    await page.getByText("connection refused").first().waitFor();
    await remove(page);
  });

  test("have the states of their mounts in the language of the page", async () => {
    await console.addSite(site);
    await console.mounts.saveMounts({
      mounts: [{ name: "films", mountPath: "/films", driver: "Local", sites: { all: true } }],
    });
    const page = await console.enter("sites?name=harbour");
    await page.getByText("1 differs", { exact: true }).waitFor();
    await page.locator(".menu select").selectOption("zh-CN");
    await page.getByText("1 有差异", { exact: true }).waitFor();
    await console.mounts.deleteMounts({ names: ["films"] });
  });

  test("are added, adopted, followed and removed with the keyboard alone", async () => {
    const page = await console.enter("sites");
    const type = (text: string) => page.keyboard.type(text);
    const enter = async (name: string): Promise<void> => {
      await page.getByRole("button", { name }).last().waitFor();
      await enterAt(page, name);
    };
    await enter("Add a site");
    await tabTo(page, "Name");
    await type("quay");
    await tabTo(page, "Address");
    await type(site.url);
    await tabTo(page, "Its admin token");
    await type(site.token());
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "quay" }).waitFor();
    const take = page.getByRole("button", { name: /^Adopt its/ });
    await take.waitFor();
    await enterAt(page, /^Adopt its/);
    await page.locator("dialog").waitFor();
    await enterAt(page, /^Adopt its/);
    await page.getByText("No differences: the site is up to date.").waitFor();
    await enter("Follow");
    // A change of a site that the page does not show yet makes the next one outdated.
    await page.getByRole("button", { name: "Only compare" }).waitFor();
    await enter("Pause");
    await enter("Resume");
    await enter("Remove");
    await enter("Remove now");
    await page.getByText("There are no sites.").waitFor();
  });

  test("with a replaced token are repaired: token, name, settings and own values", async () => {
    const page = await addedSite();
    const dialog = page.locator("dialog");
    const token = "another-token-of-the-site-0123456789";
    site.put("token", token);
    await page.getByRole("button", { name: "Check now" }).click();
    await page.locator(".notice.warning").waitFor();
    await page.getByRole("button", { name: "Edit" }).click();
    // A wrong address is refused at its field, and nothing is changed.
    await dialog.getByLabel("Address").fill("ftp://nowhere");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.locator(".wrong", { hasText: "http" }).waitFor();
    await dialog.getByLabel("Address").fill(site.url);
    await dialog.getByLabel("Its admin token").fill(token);
    await dialog.getByLabel("Name", { exact: true }).fill("pier");
    await dialog.getByLabel("Excluded settings").fill("site_title, group:5");
    await dialog.getByRole("button", { name: "Add a value" }).click();
    await dialog.getByLabel("Name 1", { exact: true }).fill("default_page_size");
    await dialog.getByLabel("Value 1", { exact: true }).fill("44");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "pier" }).waitFor();
    await page.getByText("site_title, group:5").waitFor();
    await page.getByRole("button", { name: "Check now" }).click();
    await expect.poll(() => page.locator(".notice.warning", { hasText: "token" }).count()).toBe(0);
    const { site: saved } = await console.sites.getSite({ name: "pier" });
    expect(saved).toMatchObject({
      exclude: ["site_title", "group:5"],
      overrides: { default_page_size: "44" },
    });
    // A setting that is left out stays as it is.
    await page.getByText("Own values of the site").waitFor();
    await remove(page);
  });

  test("get only the chosen settings", async () => {
    const page = await addedSite();
    await console.change("site_title", "Chosen");
    await console.change("announcement", "Left out");
    await page.getByRole("button", { name: "Check now" }).click();
    const write = page.getByRole("button", { name: /^Write \d+ values? to the site/ });
    await page.getByLabel("Include announcement").waitFor();
    const boxes = page.getByRole("checkbox", { name: /^Include / });
    for (const box of await boxes.all())
      if ((await box.getAttribute("aria-label")) !== "Include site_title") await box.uncheck();
    await write.click();
    await page.locator("dialog").getByRole("button", { name: "Write 1 value" }).click();
    await expect.poll(() => site.value("site_title")).toBe("Chosen");
    expect(site.value("announcement")).not.toBe("Left out");
  });

  // The last ones: they make the settings equal to those of a new server.
  test("whose values are equal from the beginning can follow", async () => {
    const second = await startStandIn();
    onTestFinished(second.stop);
    await console.addSite(site);
    await console.sites.adoptSite({ name: "harbour" });
    await console.addSite(second, "quay");
    const page = await console.enter("sites?name=quay");
    await page.getByText("No differences: the site is up to date.").waitFor();
    await page.getByRole("button", { name: "Confirm that the values are equal" }).click();
    await page
      .getByRole("button", { name: "Confirm that the values are equal" })
      .waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Follow" }).click();
    await page.getByRole("button", { name: "Only compare" }).waitFor();
  });

  test("take two buttons that are pressed at once, one after the other", async () => {
    await console.addSite(site);
    await console.sites.adoptSite({ name: "harbour" });
    const page = await console.enter("sites?name=harbour");
    await page.getByRole("button", { name: "Follow" }).waitFor();
    await page.evaluate(`for (const button of document.querySelectorAll(".page-head button"))
      if (["Follow", "Pause"].includes(button.innerText)) button.click();`);
    await page.getByRole("button", { name: "Only compare" }).waitFor();
    await page.getByRole("button", { name: "Resume" }).waitFor();
    expect(await page.locator("main .notice.wrong").count()).toBe(0);
    expect((await console.sites.getSite({ name: "harbour" })).site).toMatchObject({
      mode: SiteMode.FOLLOW,
      paused: true,
    });
  });
});
