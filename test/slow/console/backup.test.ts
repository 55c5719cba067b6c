import { mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { backupWith, chooseBackup, consoleTest, enterAt, tabTo } from "./console.ts";

const folder = mkdtempSync(join(tmpdir(), "mooring-backups-"));
const PASSPHRASE = "the passphrase of the service";
const console = consoleTest({
  env: {
    MOORING_BACKUP_DIR: folder,
    MOORING_BACKUP_PASSPHRASE: PASSPHRASE,
    MOORING_BACKUP_KEEP: "daily=1",
  },
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Label of the choice that replaces stored secrets. */
const REPLACES = /^Replace secrets that are stored here/;

describe("backup, with the keyboard alone", () => {
  test("is sealed, downloaded, chosen, previewed and imported", async () => {
    await console.change("site_title", "In the backup");
    const page = await console.enter("backup");
    const press = (key: string) => page.keyboard.press(key);
    await tabTo(page, /^Omitted/);
    await press("ArrowDown");
    await tabTo(page, "Passphrase");
    await page.keyboard.type("a passphrase");
    const file = page.waitForEvent("download");
    await press("Enter");
    const path = await (await file).path();
    await console.change("site_title", "Changed since");
    const chooser = page.waitForEvent("filechooser");
    await enterAt(page, /^Drop a JSON file/);
    await (await chooser).setFiles(path);
    await tabTo(page, /^Passphrase if/);
    await page.keyboard.type("a passphrase");
    await page.locator(".outcomes code", { hasText: "site_title" }).waitFor();
    await tabTo(page, /^Reason/);
    await page.keyboard.type("Back again");
    await press("Enter");
    await page.getByText("The backup is imported:").waitFor();
    expect(await console.saved("site_title")).toBe("In the backup");
  });
});

describe("backup", () => {
  test("is downloaded without secrets, sealed or in plain text, and read again", async () => {
    await console.change("site_title", "Kept");
    await console.change("s3_secret_access_key", "the-secret-of-s3");
    const page = await console.enter("backup");
    const download = async (): Promise<string> => {
      const file = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download", exact: true }).click();
      return readFile(await (await file).path(), "utf8");
    };
    expect(await download()).not.toContain("the-secret-of-s3");
    await page.getByLabel("In the clear.").check();
    expect(await download()).toContain("the-secret-of-s3");
    await page.getByLabel("Sealed with a passphrase.").check();
    await page.getByRole("button", { name: "Download", exact: true }).click();
    await page.getByText("at least 8 characters").waitFor();
    await page.getByLabel("Passphrase", { exact: true }).fill("a passphrase");
    const sealed = await download();
    expect(sealed).not.toContain("the-secret-of-s3");

    await console.change("site_title", "Changed since");
    await console.change("s3_secret_access_key", "another");
    await chooseBackup(page, sealed);
    await page.locator(".block-form .notice, .outcomes").first().waitFor();
    await page.getByLabel(/^Passphrase if/).fill("a passphrase");
    await page.locator(".outcomes code", { hasText: "site_title" }).waitFor();
    expect(await console.saved("site_title")).toBe("Changed since");
    await page.getByLabel("Reason").fill("From the backup");
    // A stored secret stays, unless the user replaces it.
    await page.locator(".outcomes", { hasText: "stays as it is here" }).waitFor();
    await page.getByRole("button", { name: "Import 1 change" }).waitFor();
    await page.getByLabel(REPLACES).check();
    await page.getByRole("button", { name: "Import 2 changes" }).click();
    await page.getByText("The backup is imported:").waitFor();
    expect(await console.saved("site_title")).toBe("Kept");
    expect(await console.saved("s3_secret_access_key")).toBe("the-secret-of-s3");
  });

  test("that is invalid is refused with the place of the error; invalid values are named", async () => {
    const page = await console.enter("backup");
    await chooseBackup(page, '{ "settings": [ }');
    await page.getByText("This is not JSON at line 1, column 17").waitFor();
    await chooseBackup(page, "17");
    await page.getByText("This is not a backup").waitFor();
    const wrong = await console.backup.exportArchive({ only: ["settings"] });
    const document = JSON.parse(JSON.stringify(wrong.document));
    for (const setting of document.settings)
      if (setting.key === "default_page_size") setting.value = "many";
      else if (setting.key === "site_title") setting.value = "Also in it";
    await chooseBackup(page, document);
    await page.locator(".notice", { hasText: "default_page_size" }).waitFor();
    await page.getByLabel(/^Skip settings with invalid values/).check();
    await page.locator(".outcomes code", { hasText: "default_page_size" }).waitFor();
    await page.getByRole("button", { name: "Import 1 change" }).click();
    await page.getByText("The backup is imported:").waitFor();
    expect(await console.saved("site_title")).toBe("Also in it");
  });
});

describe("backups of the service", () => {
  test("are made, checked, restored after a preview, and the old ones removed", async () => {
    await console.change("site_title", "In a stored backup");
    await console.change("s3_secret_access_key", "a-stored-secret");
    const page = await console.enter("backup");
    const passphrase = page.getByLabel("Passphrase empty: that of the service");
    await passphrase.waitFor();
    await page.getByRole("button", { name: "Back up now" }).click();
    await page.getByText("The backup is made:").waitFor();
    const rows = page.locator("section[aria-labelledby=stored-title] li", { hasText: "kB" });
    await expect.poll(() => rows.count()).toBe(1);
    await rows.getByRole("button", { name: "Check" }).click();
    await page.getByText("can be restored").waitFor();
    await console.change("site_title", "Changed since");
    await console.change("s3_secret_access_key", "another");
    await rows.getByRole("button", { name: "Restore" }).click();
    await page.locator(".outcomes code", { hasText: "site_title" }).waitFor();
    expect(await console.saved("site_title")).toBe("Changed since");
    await page.getByLabel(REPLACES).check();
    await page.locator(".outcomes", { hasText: "replaces the secret" }).waitFor();
    await page.getByRole("button", { name: /^Import \d+ changes?$/ }).click();
    await page.getByText("The backup is imported:").waitFor();
    expect(await console.saved("site_title")).toBe("In a stored backup");
    expect(await console.saved("s3_secret_access_key")).toBe("a-stored-secret");
    await page.getByRole("button", { name: "Remove old backups" }).click();
    await page.getByText("No backup is older than those that are kept.").waitFor();
    expect(await page.locator("dialog .danger").isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Cancel" }).click();
    const file = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download a backup" }).click();
    expect(await readFile(await (await file).path(), "utf8")).not.toContain("a-stored-secret");
  });
});

test("an import shows that it goes on, and can be ended; the preview then shows what is left", async () => {
  const page = await console.enter("backup");
  await chooseBackup(page, backupWith("Ended"));
  const commit = page.getByRole("button", { name: "Import 1 change" });
  await commit.waitFor();
  // The next call does not arrive.
  await page.route("**/RestoreBackup", () => undefined, { times: 1 });
  await commit.click();
  await page.locator("progress").waitFor();
  await page.getByRole("button", { name: "End it" }).click();
  await page.getByText("Ended. What was done until then stays.").waitFor();
  await commit.click();
  await page.getByText("The backup is imported").waitFor();
  expect(await console.saved("site_title")).toBe("Ended");
});

test("secrets are replaced by one import only: the next one asks again", async () => {
  const page = await console.enter("backup");
  const replace = page.getByLabel(REPLACES);
  await chooseBackup(page, backupWith("First"));
  await replace.check();
  await page.getByRole("button", { name: "Import 1 change" }).click();
  await page.getByText("The backup is imported").waitFor();
  await chooseBackup(page, backupWith("Second"));
  await page.getByRole("button", { name: "Import 1 change" }).waitFor();
  expect(await replace.isChecked()).toBe(false);
});

describe("backups of a service without a passphrase", () => {
  const without = consoleTest({ env: { MOORING_BACKUP_DIR: folder } });

  test("need one of the user, and the page says so before", async () => {
    const page = await without.enter("backup");
    const backUp = page.getByRole("button", { name: "Back up now" });
    const download = page.getByRole("button", { name: "Download a backup" });
    const passphrase = page.getByLabel(
      "Passphrase at least 8 characters; the service has none of its own",
    );
    await passphrase.waitFor();
    expect(await backUp.isEnabled()).toBe(false);
    expect(await download.isEnabled()).toBe(false);
    await passphrase.fill("a passphrase");
    await expect.poll(() => backUp.isEnabled()).toBe(true);
    expect(await download.isEnabled()).toBe(true);
  });
});
