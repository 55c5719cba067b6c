import { expect, test } from "vitest";
import { consoleTest, visit } from "./console.ts";

const console = consoleTest();

test("a folder rule is created, changed with its reason, moved and deleted", async () => {
  const page = await console.enter("rules");
  await page.getByText("There are no folder rules.").waitFor();
  await page.getByRole("link", { name: "New rule" }).click();
  await page.getByLabel("Path of the folder").fill("/films");
  await page.getByLabel("Password", { exact: true }).fill("rule-secret");
  await page.getByLabel("Hidden names").fill("^\\.\n(");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".notice.wrong").waitFor();
  await page.getByLabel("Hidden names").fill("^\\.");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "/films" }).waitFor();
  // The password stays unless another one is typed, or it is removed.
  expect(await page.getByLabel("Password", { exact: true }).inputValue()).toBe("");
  expect(await page.content()).not.toContain("rule-secret");
  await page.getByLabel("Text below the files").fill("# Films");
  await page.getByLabel("Users who may read").fill("ann\nbob");
  await page.getByLabel("Reason").fill("For Ann and Bob");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".mount-results", { hasText: "/films changed" }).waitFor();
  const { rule } = await console.rules.getRule({ path: "/films", reveal: true });
  expect(rule).toMatchObject({
    password: "rule-secret",
    hide: "^\\.",
    readme: "# Films",
    readUsers: ["ann", "bob"],
  });
  const { revisions } = await console.settings.listRevisions({ pageSize: 1 });
  expect(revisions[0]?.reason).toBe("For Ann and Bob");
  await page.getByRole("button", { name: "Move" }).click();
  await page.getByLabel("New path").fill("/movies");
  await page.locator("dialog").getByRole("button", { name: "Move" }).click();
  await page.getByRole("heading", { name: "/movies" }).waitFor();
  await page.getByRole("link", { name: "History", exact: true }).last().click();
  await page.getByText("rule:/movies").first().waitFor();
  // A revision has the changed items of the rule, whose name is its path, and a link to it.
  await visit(page, `history?revision=${revisions[0]?.revision}`);
  const change = page.locator(".changes li");
  await change.getByText("/films", { exact: true }).waitFor();
  await change.getByText("readme", { exact: true }).waitFor();
  await change.getByText("# Films").waitFor();
  expect(await change.getByRole("link").getAttribute("href")).toMatch(/rule\?path=%2Ffilms$/);
  await page
    .getByRole("link", { name: `Restore revision ${(revisions[0]?.revision ?? 0n) - 1n}` })
    .waitFor();
  await visit(page, "rule?path=/movies");
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete now" }).click();
  await page.getByText("There are no folder rules.").waitFor();
});

test("the lines that hide names are tried in the browser, also those that take for ever", async () => {
  const page = await console.enter("rule?new=1");
  await page.getByLabel("Hidden names").fill("\\.tmp$\n(a+)+$\n(");
  await page.getByText("Try it").click();
  await page.getByLabel("Names in the folder").fill(`a.mkv\nb.tmp\n${"a".repeat(60)}!`);
  await page.getByText("1 of 3 names is hidden.").waitFor();
  await page.getByText("\\.tmp$: b.tmp").waitFor();
  await page.getByText("it takes too long").waitFor();
  await page.getByText("the browser cannot check it").waitFor();
});

test("a rule that somebody changes meanwhile is not overwritten", async () => {
  await console.rules.saveRules({ rules: [{ path: "/shared", hide: "a" }] });
  const page = await console.enter("rule?path=/shared");
  await page.getByLabel("Hidden names").fill("mine");
  await console.rules.saveRules({ rules: [{ path: "/shared", hide: "theirs" }] });
  await page.getByText("Also changed by the other user: hide.").waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".notice.wrong").waitFor();
  await page.getByRole("button", { name: "Show the newest state" }).click();
  expect(await page.getByLabel("Hidden names").inputValue()).toBe("theirs");
  await console.rules.deleteRules({ paths: ["/shared"] });
});
