import { readFile } from "node:fs/promises";
import { toBinary } from "@bufbuild/protobuf";
import SQLite from "better-sqlite3";
import type { Page, Route } from "playwright-core";
import { expect, test } from "vitest";
import { GetCheckpointResponseSchema } from "../../../gen/mooring/v1/audit_service_pb.js";
import { consoleTest, enterAt, signIn, tabTo } from "./console.ts";

const console = consoleTest();
const rows = (page: Page) => page.locator(".event");

test("rows are shown when they are written, with actor, transport, subjects and reason", async () => {
  const page = await console.enter("audit");
  await page.getByRole("heading", { name: "Audit" }).waitFor();
  await console.change("site_title", "Seen", "while one looks");
  const row = rows(page).first();
  await expect.poll(() => row.innerText()).toContain("while one looks");
  for (const part of ["SaveSettings", "OK", "site_title", "by admin", "connect"])
    expect(await row.innerText()).toContain(part);
  await row.locator("summary").click();
  const { events } = await console.audit.listAuditEvents({ pageSize: 1 });
  await row.getByText(events[0]?.hash ?? "none").waitFor();
});

test("filters apply, and are in the address", async () => {
  await console.change("site_title", "One");
  await console.change("robots_txt", "User-agent: *");
  const page = await console.enter("audit");
  await page.getByLabel("Subject").fill("robots_*");
  await page.keyboard.press("Enter");
  await expect.poll(() => rows(page).locator(".keys code").allInnerTexts()).toEqual(["robots_txt"]);
  await expect.poll(() => page.url()).toContain("subject=robots_*");
  // Rows that do not match are not shown when they are written.
  await console.change("site_title", "Two");
  await console.change("robots_txt", "User-agent: none");
  await expect
    .poll(() => rows(page).locator(".keys code").allInnerTexts())
    .toEqual(["robots_txt", "robots_txt"]);
  await page.getByRole("button", { name: "Clear" }).click();
  await rows(page).filter({ hasText: "site_title" }).first().waitFor();
  await page.getByLabel("Outcome").selectOption("PERMISSION_DENIED");
  await page.getByText("No row matches.").waitFor();
  await page.getByRole("button", { name: "Clear" }).click();
  await rows(page).first().waitFor();
  await page.getByLabel("Actor").fill("nobody-like-it");
  await page.keyboard.press("Enter");
  await page.getByText("No row matches.").waitFor();
  await page.getByRole("button", { name: "Clear" }).click();
  await rows(page).first().waitFor();
  await page.getByLabel("From date").fill("2100-01-01");
  await page.getByText("No row matches.").waitFor();
});

test("older rows are loaded page by page, and all of them can be downloaded", async () => {
  for (let count = 0; count < 60; count += 1) await console.change("site_title", `Title ${count}`);
  const { checkpoint } = await console.audit.getCheckpoint({});
  const all = Number(checkpoint?.sequence);
  const page = await console.enter("audit");
  await expect.poll(() => rows(page).count()).toBe(50);
  await page.getByRole("button", { name: "Show older revisions" }).click();
  await expect.poll(() => rows(page).count()).toBe(Math.min(all, 100));
  const file = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  const lines = (await readFile(await (await file).path(), "utf8")).trim().split("\n");
  expect(lines).toHaveLength(all);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    sequence: String(all),
    hash: checkpoint?.hash,
  });
});

test("the checkpoint is that of the service, is updated, and can be copied", async () => {
  const page = await console.enter("audit");
  await console.change("site_title", "Before the checkpoint");
  const { checkpoint } = await console.audit.getCheckpoint({});
  const lines = (checkpoint?.text ?? "").split("\n").slice(0, 3);
  await expect
    .poll(async () => (await page.locator(".checkpoint pre").innerText()).split("\n").slice(0, 3))
    .toEqual(lines);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy" }).click();
  await page.getByText("Copied").waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toContain(lines[2]);
});

test("a row that is written between the reads of checkpoint and list is in both", async () => {
  const page = await console.open("audit");
  const meanwhile = async (route: Route): Promise<void> => {
    await console.change("site_title", "Between two reads");
    await route.continue();
  };
  await page.route("**/ListAuditEvents", meanwhile, { times: 1 });
  await signIn(page);
  await rows(page).first().waitFor();
  const { checkpoint } = await console.audit.getCheckpoint({});
  const [, , hash = "none"] = checkpoint?.text.split("\n") ?? [];
  await page.locator(".checkpoint pre").filter({ hasText: hash }).waitFor();
});

test("no row is left out when the stream ends between a row and its checkpoint", async () => {
  const page = await console.enter("audit");
  await rows(page).first().waitFor();
  const meanwhile = async (route: Route): Promise<void> => {
    await console.stop();
    await console.start();
    await console.change("site_title", "Behind the checkpoint", "after the stream's end");
    const reply = await console.audit.getCheckpoint({});
    const body = Buffer.from(toBinary(GetCheckpointResponseSchema, reply));
    await route.fulfill({ body, contentType: "application/proto" });
  };
  await page.route("**/GetCheckpoint", meanwhile, { times: 1 });
  await console.change("site_title", "Before the checkpoint");
  await rows(page).filter({ hasText: "after the stream's end" }).waitFor();
});

test("the audit is verified row by row, alone and up to a stored checkpoint", async () => {
  await console.change("site_title", "Before");
  const { checkpoint } = await console.audit.getCheckpoint({});
  const kept = checkpoint?.text ?? "";
  const row = Number(checkpoint?.sequence);
  await console.change("site_title", "After");
  const page = await console.enter("audit");
  const verify = () => page.getByRole("button", { name: "Verify" }).click();
  const field = page.getByLabel("Stored checkpoint");
  await verify();
  await page.getByText(`Intact: rows 1 to ${row + 1} form a chain.`).waitFor();
  await field.fill(kept);
  await verify();
  await page.getByText("form a chain and match the checkpoint.").waitFor();
  await field.fill("neither this nor that");
  await page.getByText("This is not a checkpoint").waitFor();
  await field.fill(kept.replace(/^./, (first) => (first === "x" ? "y" : "x")));
  await page.getByText("This checkpoint belongs to another database.").waitFor();
  await field.fill(kept.replace(`\n${row}\n`, `\n${row + 1}\n`));
  await verify();
  await page.getByText(`Row ${row + 1} differs from the checkpoint`).waitFor();
  await field.fill(kept.replace(`\n${row}\n`, `\n${row + 100}\n`));
  await verify();
  await page.getByText(`belongs to row ${row + 100}, and the audit ends before it`).waitFor();
});

test.each([
  ["was changed after it was written", "update audit set actor = 'nobody' where seq = ?"],
  ["is missing", "delete from audit where seq = ?"],
])("a row that %s is named", async (description, statement) => {
  await console.change("site_title", `Before a row ${description}`);
  await console.change("site_title", `After a row ${description}`);
  const { checkpoint } = await console.audit.getCheckpoint({});
  const row = Number(checkpoint?.sequence) - 1;
  await console.stop();
  const database = new SQLite(console.database());
  const before = database.prepare("select * from audit where seq = ?").get(row) as object;
  database.prepare(statement).run(row);
  database.close();
  await console.start();
  const page = await console.enter("audit");
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText(`Row ${row} ${description}`).waitFor();
  await console.stop();
  const names = Object.keys(before);
  const again = new SQLite(console.database());
  again
    .prepare(`insert or replace into audit (${names}) values (${names.map(() => "?")})`)
    .run(Object.values(before));
  again.close();
  await console.start();
});

test("the audit is filtered, opened and copied with the keyboard alone", async () => {
  await console.change("site_title", "By keyboard", "a reason that one reads");
  const page = await console.enter("audit");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await rows(page).first().waitFor();
  await tabTo(page, "Action");
  await page.keyboard.type("SaveSettings");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.url()).toContain("method=SaveSettings");
  await enterAt(page, /a reason that one reads/);
  await page.getByText("Hash of this row").waitFor();
  await enterAt(page, "Copy");
  await page.getByText("Copied").waitFor();
});

test("the audit page continues at its position after an outage of the service", async () => {
  const page = await console.enter("audit");
  await rows(page).first().waitFor();
  const before = await rows(page).count();
  await console.stop();
  await page.getByText("The connection to Mooring is lost.").waitFor();
  expect(await rows(page).count()).toBe(before);
  await console.start();
  await console.change("site_title", "While away", "after the pause");
  await expect.poll(() => rows(page).first().innerText()).toContain("after the pause");
  expect(await page.locator(".state-box").count()).toBe(0);
});
