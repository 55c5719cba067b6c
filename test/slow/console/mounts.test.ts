import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { SiteMode } from "../../../gen/mooring/v1/site_pb.js";
import { startWholeSite, type WholeSite } from "../../mounts/whole-site.ts";
import { consoleTest, visit } from "./console.ts";

const console = consoleTest();

afterEach(async () => {
  const { sites } = await console.sites.listSites({});
  for (const { name } of sites) await console.sites.deleteSite({ name });
  const { mounts } = await console.mounts.listMounts({});
  const names = mounts.map(({ name }) => name);
  if (names.length > 0) await console.mounts.deleteMounts({ names });
});

async function startSite(): Promise<WholeSite> {
  const site = await startWholeSite();
  onTestFinished(site.stop);
  return site;
}

/** A server that follows Mooring as a site. */
async function followingSite(name = "harbour"): Promise<WholeSite> {
  const site = await startSite();
  await console.addSite(site, name);
  await console.sites.syncSite({ name });
  await console.sites.updateSite({ name, site: { mode: SiteMode.FOLLOW } });
  return site;
}

describe("mounts", () => {
  test("are created by the driver's form, with errors at their items, changed and deleted", async () => {
    const page = await console.enter("mounts");
    await page.getByText("There are no mounts.").waitFor();
    await page.getByRole("link", { name: "New mount" }).click();
    await page.getByLabel("Driver").selectOption("WebDav");
    await page.getByLabel("Name", { exact: true }).fill("cloud");
    await page.locator("#item-mount_path").fill("/cloud");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator("#item-address-wrong", { hasText: "is required" }).waitFor();
    await page.locator("#item-address").fill("https://dav.example");
    await page.locator("#item-username").fill("ann");
    await page.locator("#item-password").fill("console-secret");
    await page.getByRole("button", { name: "Preview" }).click();
    await page.locator(".mount-results", { hasText: "cloud created" }).waitFor();
    expect((await console.mounts.listMounts({})).mounts).toEqual([]);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "cloud" }).waitFor();
    // The secret is kept unless another one is typed.
    expect(await page.locator("#item-password").inputValue()).toBe("");
    expect(await page.content()).not.toContain("console-secret");
    await page.locator("#item-username").fill("bob");
    await page.getByLabel("Disabled").check();
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".mount-results", { hasText: "cloud changed" }).waitFor();
    const { mount } = await console.mounts.getMount({ name: "cloud", reveal: true });
    expect(mount).toMatchObject({
      disabled: true,
      config: { username: "bob", password: "console-secret" },
    });
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Delete now" }).click();
    await page.getByText("There are no mounts.").waitFor();
  });

  test("of a site are adopted after a preview; those that fail are listed first", async () => {
    const site = await startSite();
    await fetch(`${site.url}/api/admin/storage/create`, {
      method: "POST",
      headers: { authorization: site.token() },
      body: JSON.stringify({
        mount_path: "/films",
        driver: "Local",
        webdav_policy: "native_proxy",
        addition: '{"root_folder_path":"/srv/films"}',
      }),
    });
    site.storages.edit("/films", { status: "login failed: 401" });
    await console.addSite(site);
    const page = await console.enter("mounts");
    await page.getByRole("button", { name: "Adopt mounts of a site" }).click();
    await page.locator("dialog select").selectOption("harbour");
    await page.getByRole("button", { name: "Preview the adoption" }).click();
    await page.locator(".mount-results", { hasText: "films created" }).waitFor();
    await page.getByRole("button", { name: "Adopt them" }).click();
    await page
      .locator("[data-record=films]", { hasText: "harbour: failing (credential)" })
      .waitFor();
    const incident = page.locator(".incidents li", { hasText: "/films" });
    await incident.getByText("Get a new credential").waitFor();
    await incident.getByRole("button", { name: "Acknowledge" }).click();
    await page.getByLabel("Note for others").fill("Asked the provider");
    await page.locator("dialog").getByRole("button", { name: "Acknowledge" }).click();
    await incident.getByText("acknowledged by admin").waitFor();
    await incident.getByText("Note for others: Asked the provider").waitFor();
    await visit(page, "mount?name=films");
    await page.locator(".mounts", { hasText: "login failed: 401" }).waitFor();
    await visit(page, "");
    await page.locator(".lines li", { hasText: "1 open incident" }).getByRole("link").click();
    await page.getByRole("heading", { name: "Mounts", exact: true }).waitFor();
    await visit(page, "mount?name=films");
    await page.locator(".mounts", { hasText: "mooring mount sync harbour films" }).waitFor();
    site.storages.folders.set("/films", ["a.mkv", "series/"]);
    await page.getByRole("button", { name: "Mount again" }).click();
    await page.locator(".mounts", { hasText: "harbour: ok" }).waitFor();
    await page.getByRole("button", { name: "Test", exact: true }).click();
    await page.locator(".mount-test", { hasText: "It works: 2 entries" }).waitFor();
    await page.locator(".mount-test li", { hasText: "series/" }).waitFor();
    site.storages.folders.set("/films", "object not found");
    await page.getByRole("button", { name: "Test", exact: true }).click();
    await page.locator(".notice", { hasText: "object not found" }).waitFor();
    await page.locator(".mounts", { hasText: "harbour: failing" }).waitFor();
    site.storages.folders.delete("/films");
    await page.getByRole("button", { name: "Test", exact: true }).click();
    await page.locator(".mounts", { hasText: "harbour: ok" }).waitFor();
    await visit(page, "mounts");
    await page.getByText("Mounts that were listed at their providers: 1 of 1").waitFor();
    await console.sites.deleteSite({ name: "harbour" });
    await page.locator(".incidents").waitFor({ state: "detached" });
    await console.mounts.deleteMounts({ names: ["films"] });
    await page.getByText("There are no mounts.").waitFor();
  });

  test("get another credential wherever it is used, after a preview", async () => {
    const dav = (name: string, password: string) => ({
      name,
      mountPath: `/${name}`,
      driver: "WebDav",
      config: { address: "https://dav.example", username: "ann", password },
    });
    await console.mounts.saveMounts({
      mounts: [dav("d1", "old"), dav("d2", "old"), dav("d3", "own")],
    });
    const page = await console.enter("mount?name=d1");
    await page.getByRole("button", { name: "Replace a credential" }).click();
    await page.getByLabel("New value").fill("console-new");
    await page.getByRole("dialog").getByRole("button", { name: "Preview" }).click();
    const results = page.locator("dialog .mount-results");
    await results.getByText("d2 changed").waitFor();
    expect(await results.locator("li").count()).toBe(2);
    const passwordOf = async (name: string) =>
      (await console.mounts.getMount({ name, reveal: true })).mount?.config?.["password"];
    expect(await passwordOf("d2")).toBe("old");
    await page.getByRole("button", { name: "Replace it" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await Promise.all(["d1", "d2", "d3"].map(passwordOf))).toEqual([
      "console-new",
      "console-new",
      "own",
    ]);
  });

  test("are created from pasted share links; lines without a share are listed", async () => {
    const page = await console.enter("mount?new=choose");
    await page.getByRole("link", { name: "Mount share links" }).click();
    await page.getByLabel("Driver").selectOption("PikPakShare");
    await page
      .getByLabel("Share links")
      .fill("https://mypikpak.com/s/VNone 1234\nnot a link\nhttps://mypikpak.com/s/VNtwo?pwd=5678");
    await page.getByText("Line 2: there is no link").waitFor();
    expect(await page.getByRole("button", { name: "Save" }).count()).toBe(0);
    await page.getByRole("button", { name: "Preview" }).click();
    await page.locator(".mount-results", { hasText: "VNtwo created" }).waitFor();
    expect((await console.mounts.listMounts({})).mounts).toEqual([]);
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator("[data-record=VNone]", { hasText: "/shares/VNone" }).waitFor();
    const { mount } = await console.mounts.getMount({ name: "VNtwo", reveal: true });
    expect(mount).toMatchObject({
      mountPath: "/shares/VNtwo",
      driver: "PikPakShare",
      config: { share_id: "VNtwo", share_pwd: "5678" },
    });
  });

  test("are shown within the rights of the token", async () => {
    const token = await console.token(["incidents:read"], "watcher");
    const page = await console.enter("mounts", { token });
    await page.getByRole("heading", { name: "Mounts" }).waitFor();
    expect(await page.getByRole("link", { name: "New mount" }).count()).toBe(0);
  });

  test("are put on sites by checkboxes, and a change that removes one from a running server is confirmed", async () => {
    const home = await followingSite("home");
    await console.addSite(await startSite(), "pier");
    const page = await console.enter("mount?new=Local");
    await page.getByLabel("Name", { exact: true }).fill("rest");
    await page.locator("#item-mount_path").fill("/rest");
    await page.locator("#item-root_folder_path").fill("/srv");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("must be chosen, because there are several sites").first().waitFor();
    await page.getByLabel("home").check();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "rest" }).waitFor();
    await expect.poll(() => home.storages.row("/rest")?.status).toBe("work");
    await page.getByLabel("home").uncheck();
    await page.getByLabel("pier").check();
    await page.getByRole("button", { name: "Save" }).click();
    const dialog = page.getByRole("dialog", { name: "Effects on running servers" });
    await dialog.getByText("On home, /rest is removed.").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect((await console.mounts.getMount({ name: "rest" })).mount?.sites?.names).toEqual(["home"]);
    await page.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect.poll(() => home.storages.row("/rest")).toBeUndefined();
    expect((await console.mounts.getMount({ name: "rest" })).mount?.sites?.names).toEqual(["pier"]);
  });
});

describe("the history of mounts", () => {
  test("shows items with masked secrets, and restores mounts and settings together", async () => {
    const site = await followingSite("home");
    const films = {
      name: "films",
      mountPath: "/films",
      driver: "WebDav",
      sites: { names: ["home"] },
      config: { address: "https://dav.example", username: "ann", password: "first-secret" },
    };
    await console.mounts.saveMounts({ mounts: [films] });
    await expect.poll(() => site.storages.row("/films")?.status).toBe("work");
    const before = await console.change("site_title", "Before");
    await console.change("site_title", "After");
    const config = { username: "bob", password: "second-secret" };
    const changed = await console.mounts.saveMounts({ mounts: [{ name: "films", config }] });
    const page = await console.enter("history");
    await page.locator(".revision", { hasText: "mount:films" }).first().waitFor();
    await visit(page, `history?revision=${changed.revision}`);
    const change = page.locator(".changes > li");
    await change.getByText("config.username").waitFor();
    expect(await change.locator("del").allInnerTexts()).toEqual(["ann"]);
    expect(await change.locator("ins").allInnerTexts()).toEqual(["bob"]);
    expect(await change.innerText()).toContain("config.password");
    expect(await change.locator("a").getAttribute("href")).toContain("mount?name=films");
    expect(await page.content()).not.toMatch(/first-secret|second-secret/);
    await visit(page, `history?back=${before}`);
    await page.getByText("On home, /films is mounted again").waitFor();
    await page.getByText("1 item cannot be restored").waitFor();
    await page.getByText("config.password: secrets are not in the history").waitFor();
    await expect.poll(() => page.locator(".changes > li").count()).toBe(2);
    await page.getByRole("button", { name: "Restore 2 changes" }).click();
    await page.getByText("was restored as revision").waitFor();
    expect(await console.saved("site_title")).toBe("Before");
    const { mount } = await console.mounts.getMount({ name: "films", reveal: true });
    expect(mount?.config).toMatchObject({ username: "ann", password: "second-secret" });
  });
});

describe("a mount", () => {
  test("gets own values on a site, another name, and a copy; each with its reason", async () => {
    await console.addSite(await startSite());
    const input = { name: "shelf", mountPath: "/shelf", driver: "Local", sites: { all: true } };
    await console.mounts.saveMounts({
      mounts: [{ ...input, config: { root_folder_path: "/srv" } }],
    });
    const page = await console.enter("mount?name=shelf");
    await page.getByRole("button", { name: "Own values of sites" }).click();
    await page.getByLabel("Site with own values").selectOption("harbour");
    await page.getByRole("button", { name: "Add own values" }).click();
    await page.getByLabel("Path on harbour").fill("/movies");
    const values = page.getByRole("group", { name: "Values on harbour" });
    await values.getByRole("button", { name: "Add a value" }).click();
    await values.getByLabel("Name 1", { exact: true }).fill("root_folder_path");
    await values.getByLabel("Value 1", { exact: true }).fill("/mnt/movies");
    await values.getByRole("button", { name: "Add a value" }).click();
    await values.getByLabel("Name 2", { exact: true }).fill("order");
    await values.getByLabel("Value 2", { exact: true }).fill("no number");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await values.locator(".wrong", { hasText: "number" }).waitFor();
    await values.getByLabel("Value 2", { exact: true }).fill("7");
    await page.getByLabel("Reason").fill("Another disk there");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator(".mount-results", { hasText: "shelf changed" }).waitFor();
    const { mount } = await console.mounts.getMount({ name: "shelf" });
    expect(mount?.overrides["harbour"]).toMatchObject({
      mountPath: "/movies",
      config: { root_folder_path: "/mnt/movies" },
      members: { order: 7 },
    });
    const { revisions } = await console.settings.listRevisions({ pageSize: 1 });
    expect(revisions[0]?.reason).toBe("Another disk there");
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByLabel("New name").fill("");
    await page.locator("dialog").getByRole("button", { name: "Rename" }).click();
    await page.locator("dialog .wrong:not(:empty)").waitFor();
    await page.getByLabel("New name").fill("cinema");
    await page.locator("dialog").getByRole("button", { name: "Rename" }).click();
    await page.getByRole("heading", { name: "cinema" }).waitFor();
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await page.getByLabel("New name").fill("series");
    await page.getByLabel("Path of the copy").fill("/series");
    await page.locator("dialog").getByRole("button", { name: "Copy" }).click();
    await page.getByRole("heading", { name: "series" }).waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export" }).click();
    await page.getByRole("button", { name: "Download" }).click();
    expect((await download).suggestedFilename()).toBe("series.json");
    await page.getByRole("button", { name: "Delete" }).click();
    await page.locator("dialog").getByLabel("Reason").fill("Not needed");
    await page.getByRole("button", { name: "Delete now" }).click();
    await page.locator("[data-record=cinema]").waitFor();
    await page.locator("[data-record=series]").waitFor({ state: "detached" });
  });

  test("that somebody changes meanwhile is not overwritten", async () => {
    const input = { name: "shared", mountPath: "/shared", driver: "Local" };
    await console.mounts.saveMounts({
      mounts: [{ ...input, config: { root_folder_path: "/srv" } }],
    });
    const page = await console.enter("mount?name=shared");
    await page.locator("#item-root_folder_path").fill("/mine");
    await console.mounts.saveMounts({ mounts: [{ name: "shared", disabled: true }] });
    await page.getByText("Another user has changed this record.").waitFor();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator(".notice.wrong").waitFor();
    await page.getByRole("button", { name: "Continue with the newest state" }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator(".mount-results", { hasText: "shared changed" }).waitFor();
    expect((await console.mounts.getMount({ name: "shared" })).mount).toMatchObject({
      disabled: true,
      config: { root_folder_path: "/mine" },
    });
  });

  test("and all others are tested with progress, which can be ended", async () => {
    const site = await followingSite();
    await console.mounts.saveMounts({
      mounts: ["a", "b"].map((name) => ({
        name,
        mountPath: `/${name}`,
        driver: "Local",
        sites: { all: true },
        config: { root_folder_path: `/srv/${name}` },
      })),
    });
    site.storages.folders.set("/a", ["one", "two"]);
    const page = await console.enter("mounts?site=harbour");
    await page.locator("[data-record=b]", { hasText: "harbour: ok" }).waitFor();
    await page.getByRole("button", { name: "Test 2 mounts" }).click();
    await page.getByText(/^\d of 2 work\.$/).waitFor();
    // A listing that takes long is ended by the user.
    const held = Promise.withResolvers<void>();
    site.storages.hold = (call) => (call.includes("fs/list") ? held.promise : undefined);
    await page.getByRole("button", { name: "Test 2 mounts" }).click();
    await page.getByRole("progressbar").waitFor();
    await page.getByRole("button", { name: "End it" }).click();
    await page.getByText("What was done until then stays.").waitFor();
    held.resolve();
    site.storages.hold = undefined;
    await page.getByRole("searchbox").fill("/b");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator("[data-record]").count()).toBe(1);
  });
});
