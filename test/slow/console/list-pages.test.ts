import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { startStandIn } from "../../sites/stand-in.ts";
import { startedForAll } from "../../started.ts";
import { saveLargeMounts } from "../../wire/large-mounts.ts";
import { consoleTest, visit } from "./console.ts";

const console = consoleTest();
const site = startedForAll(startStandIn);

/** The request to an rpc with the name of the last mount. */
const requestWithLast = (page: Page, rpc: string) =>
  page.waitForRequest(
    (request) => request.url().endsWith(`/${rpc}`) && request.postData()?.includes("m099") === true,
  );

test("mounts beyond the first page of a list are written to a site, and their folders are listed", async () => {
  await console.addSite(site);
  await saveLargeMounts(console.mounts);
  expect((await console.mounts.listMounts({})).nextPageToken).not.toBe("");

  const page = await console.enter("sites?name=harbour");
  await page.getByRole("button", { name: "Write mounts to the site" }).click();
  const written = requestWithLast(page, "SyncMounts");
  await page.locator("dialog").getByRole("button", { name: "Write them now" }).click();
  await written;

  await visit(page, "rule?new=1");
  await page.getByLabel("Path of the folder").fill("/m099");
  await page.getByText("Try it").click();
  const tested = requestWithLast(page, "TestMounts");
  await page.getByRole("button", { name: "Names of the mount at this path" }).click();
  await tested;
});
