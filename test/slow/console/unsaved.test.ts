import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { startStandIn } from "../../sites/stand-in.ts";
import { startedForAll } from "../../started.ts";
import { consoleTest, visit } from "./console.ts";

const console = consoleTest({ env: { MOORING_WEBHOOK_TARGETS: "any" } });
const SECRET = "typed-secret-5d1c";

const site = startedForAll(startStandIn);

beforeAll(async () => {
  await console.addSite(site);
  await console.mounts.saveMounts({
    mounts: [
      {
        name: "cloud",
        mountPath: "/cloud",
        driver: "WebDav",
        config: { address: "https://dav.example", username: "ann", password: "stored" },
      },
    ],
  });
  await console.rules.saveRules({ rules: [{ path: "/films", hide: "a" }] });
  await console.webhooks.createWebhook({
    webhook: { name: "chat", url: "https://chat.example/key" },
  });
});

const stores = (page: Page) =>
  page.evaluate<string>("JSON.stringify([{ ...sessionStorage }, { ...localStorage }])");

interface Form {
  readonly address: string;
  /** Input that stays. */
  readonly field: string;
  /** Input of a secret, which does not; undefined: the form has none. */
  readonly secret: string | undefined;
}

const forms: readonly (readonly [string, Form])[] = [
  ["mount", { address: "mount?name=cloud", field: "#item-username", secret: "#item-password" }],
  [
    "new mount",
    { address: "mount?new=WebDav", field: "#item-mount_path", secret: "#item-password" },
  ],
  [
    "folder rule",
    { address: "rule?path=/films", field: "main textarea >> nth=0", secret: "[type=password]" },
  ],
  [
    "new folder rule",
    { address: "rule?new=1", field: "main textarea >> nth=0", secret: "[type=password]" },
  ],
  [
    "site",
    {
      address: "sites?name=harbour&edit=1",
      field: "dialog input >> nth=0",
      secret: "dialog [type=password]",
    },
  ],
  [
    "new site",
    { address: "sites?new=1", field: "dialog input >> nth=1", secret: "dialog [type=password]" },
  ],
  [
    "webhook",
    {
      address: "webhooks?edit=chat",
      field: "dialog input >> nth=0",
      secret: "dialog [type=password]",
    },
  ],
  [
    "new webhook",
    {
      address: "webhooks?new=1",
      field: "dialog input >> nth=0",
      secret: "dialog [type=password]",
    },
  ],
  ["new token", { address: "tokens?new=1", field: "main form input >> nth=0", secret: undefined }],
];

describe("unsaved inputs of the form of a", () => {
  test.each(forms)(
    "%s stay after a reload, except secrets, and are gone in all tabs after a sign-out",
    async (_, { address, field, secret }) => {
      const page = await console.enter(address);
      await page.locator(field).fill("unsaved-input");
      if (secret !== undefined) {
        await page.locator(secret).first().fill(SECRET);
        await page.getByText("A typed secret is not kept").waitFor();
      }
      expect(await stores(page)).not.toContain(SECRET);
      await page.reload();
      await page.getByText("Your unsaved inputs were restored").waitFor();
      expect(await page.locator(field).inputValue()).toBe("unsaved-input");
      if (secret !== undefined) {
        await page.getByText("Typed secrets are not kept:").waitFor();
        expect(await page.locator(secret).first().inputValue()).toBe("");
      }
      const other = await page.context().newPage();
      await other.goto(`${console.origin}/console/`);
      await other.getByRole("button", { name: "Sign out" }).first().click();
      await page.locator("#token").waitFor();
      expect(await stores(page)).not.toContain("unsaved-input");
    },
  );

  test("mount are discarded by its button, and stay on another page", async () => {
    const page = await console.enter("mount?name=cloud");
    await page.locator("#item-username").fill("bob");
    await visit(page, "history");
    await visit(page, "mount?name=cloud");
    await expect.poll(() => page.locator("#item-username").inputValue()).toBe("bob");
    await page.getByRole("button", { name: "Discard them" }).click();
    await expect.poll(() => page.locator("#item-username").inputValue()).toBe("ann");
    expect(await stores(page)).not.toContain("bob");
  });

  test("mount stay if its page is left at the moment of a key press", async () => {
    const page = await console.enter("history");
    await visit(page, "mount?name=cloud");
    await page.locator("#item-username").waitFor();
    await page.evaluate(`{
      const field = document.querySelector("#item-username");
      field.value = "eve";
      field.dispatchEvent(new Event("input", { bubbles: true }));
      history.pushState(null, "", "/console/history");
      dispatchEvent(new PopStateEvent("popstate"));
    }`);
    await page.locator(".revision").first().waitFor();
    await visit(page, "mount?name=cloud");
    await expect.poll(() => page.locator("#item-username").inputValue()).toBe("eve");
  });

  test("site are not saved over a newer state", async () => {
    const page = await console.enter("sites?name=harbour&edit=1");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Excluded settings").fill("logo");
    await console.sites.updateSite({
      name: "harbour",
      site: { include: { patterns: ["site_title", "logo"] } },
    });
    await dialog.getByText("Another user has changed this record.").waitFor();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.locator(".notice.wrong").waitFor();
    await dialog.getByRole("button", { name: "Continue with the newest state" }).click();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    expect((await console.sites.getSite({ name: "harbour" })).site).toMatchObject({
      include: ["site_title", "logo"],
      exclude: ["logo"],
    });
  });
});
