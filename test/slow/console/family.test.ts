import { describe, expect, test } from "vitest";
import { consoleTest } from "./console.ts";

const console = consoleTest({ env: { MOORING_FAMILY: "alist" } });

describe("the console of a service for AList", () => {
  test("shows a driver's items in the order of AList's form", async () => {
    const page = await console.enter("drivers?name=Dropbox");
    await page.locator(".result li").first().waitFor();
    const names = await page.locator(".item .label code").allInnerTexts();
    expect(names.slice(0, 5)).toEqual([
      "refresh_token",
      "root_folder_path",
      "oauth_token_url",
      "client_id",
      "client_secret",
    ]);
  });

  test("accepts any text for a select whose options depend on each site", async () => {
    const page = await console.enter("settings?key=default_role");
    const field = page.getByLabel("Role of new accounts");
    await field.waitFor();
    expect(await field.evaluate((element) => element.tagName)).toBe("INPUT");
    await field.fill("editor");
    await page.getByRole("button", { name: "Review changes" }).click();
    await page.getByRole("button", { name: "Save 1 change" }).click();
    await expect.poll(() => console.saved("default_role")).toBe("editor");
  });
});
