import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { ageTokens } from "./age.ts";
import { consoleTest, enterAt, signIn, tabTo } from "./console.ts";

const console = consoleTest();
const item = (page: Page, id: string) => page.locator(`[data-token="${id}"]`);
const tokens = async (principal: string) => (await console.access.listTokens({ principal })).tokens;

describe("a token", () => {
  test("is created with scopes, limits and an expiry, is shown once, and has these rights", async () => {
    const page = await console.enter("tokens");
    await page.getByText("There are no tokens except the admin token.").waitFor();
    await page.getByRole("link", { name: "New token" }).click();
    await page.getByRole("button", { name: "Create the token" }).click();
    // Each error is at its field.
    await page.locator(".wrong", { hasText: "principal's name" }).waitFor();
    await page.getByLabel("Principal").fill("files");
    await page.getByLabel("Purpose").fill("a file server");
    await page.getByLabel(/^settings:write/).check();
    await page.getByLabel(/^sites:read/).check();
    await page.getByLabel("Only for these settings").fill("key:s3_*\nno limit");
    // Sites have no limits: that is reported before a call.
    expect(await page.getByLabel(/^sites:read/).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Create the token" }).click();
    await page.locator(".wrong", { hasText: 'invalid limit "no limit"' }).waitFor();
    await page.getByLabel("Only for these settings").fill("key:s3_*");
    await page.getByLabel("Expiry").selectOption("30");
    await page.getByRole("button", { name: "Create the token" }).click();
    const secret = await page.locator("[data-secret]").innerText();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByText("Copied").waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(secret);
    await page.getByRole("link", { name: "I have stored the token" }).click();
    const [made] = await tokens("files");
    expect(made).toMatchObject({ scopes: ["settings:write"], limits: ["key:s3_*"] });
    const days = (Number(made?.expireTime?.seconds) - Date.now() / 1_000) / 86_400;
    expect(Math.round(days)).toBe(30);
    await item(page, made?.id ?? "")
      .getByText("active")
      .waitFor();
    expect(await page.content()).not.toContain(secret);
    // It reads the settings within its limits, and no others.
    const other = await console.enter("settings?q=s", { token: secret });
    await other.locator("#setting-s3_access_key_id").waitFor();
    expect(await other.locator("#setting-site_title").count()).toBe(0);
  });

  test("has no expiry only by an explicit choice", async () => {
    const page = await console.enter("tokens?new=1&for=endless");
    await page.getByLabel("The principal is a person").check();
    await page.getByLabel(/^drivers:read/).check();
    await page.getByLabel("Expiry").selectOption("date");
    await page.getByLabel("Last day").fill("2001-01-01");
    await page.getByRole("button", { name: "Create the token" }).click();
    await page.locator(".wrong", { hasText: "in the past" }).waitFor();
    await page.getByLabel("Expiry").selectOption("never");
    await page.getByText("A token that never expires").waitFor();
    await page.getByRole("button", { name: "Create the token" }).click();
    await page.locator("[data-secret]").waitFor();
    const [made] = await tokens("endless");
    expect(made?.expireTime).toBeUndefined();
    await page.getByRole("link", { name: "I have stored the token" }).click();
    await item(page, made?.id ?? "")
      .getByText("never expires")
      .waitFor();
    await page.locator(".principal .badge", { hasText: "person" }).waitFor();
  });

  test("that expires soon is marked in the list and on the overview", async () => {
    await console.access.createToken({
      principal: "soon",
      scopes: ["drivers:read"],
      comment: "to be replaced",
      expireTime: { seconds: BigInt(Math.round(Date.now() / 1_000) + 3 * 86_400) },
    });
    await console.token(["drivers:read"], "late");
    await ageTokens(console, 60);
    const page = await console.enter("");
    await page.locator(".lines li", { hasText: "to be replaced" }).getByText("in 2 days").waitFor();
    expect(await page.locator(".lines li", { hasText: "late" }).count()).toBe(0);
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.getByRole("button", { name: /^Expires soon/ }).click();
    await expect.poll(() => page.locator("[data-token]").count()).toBe(1);
    await page.getByText("to be replaced").waitFor();
    await page.getByRole("searchbox").fill("nothing-like-it");
    await page.getByText("No token matches.").waitFor();
    // A user without access to tokens gets the number.
    const token = await console.token(["settings:read"], "looks");
    const other = await console.enter("", { token });
    await other.getByText("1 token expires soon.").waitFor();
  });

  test("is rotated, and revoked after a confirmation; pages that used it are signed out", async () => {
    const secret = await console.token(["settings:read"], "rotated");
    const user = await console.enter("settings", { token: secret });
    const page = await console.enter("tokens?q=rotated");
    await page.getByRole("link", { name: "Rotate" }).click();
    await page.getByLabel("Validity of the old token").selectOption("1");
    await page.getByRole("button", { name: "Create the successor" }).click();
    const next = await page.locator("[data-secret]").innerText();
    expect(next).not.toBe(secret);
    await page.getByRole("link", { name: "Tokens" }).last().click();
    await page.getByText("replaced by").waitFor();
    const [, old] = await tokens("rotated");
    await item(page, old?.id ?? "")
      .getByRole("button", { name: "Revoke" })
      .click();
    await page.getByRole("button", { name: "Cancel" }).click();
    expect((await tokens("rotated"))[1]?.active).toBe(true);
    await item(page, old?.id ?? "")
      .getByRole("button", { name: "Revoke" })
      .click();
    await page.getByRole("button", { name: "Revoke now" }).click();
    await item(page, old?.id ?? "")
      .getByText("revoked")
      .waitFor();
    await user.getByText("Your token is no longer valid").waitFor();
    await signIn(user, next);
  });

  test("is created, rotated and revoked, and its principal disabled, with the keyboard alone", async () => {
    const page = await console.enter("");
    const press = (key: string) => page.keyboard.press(key);
    await press("Control+k");
    await page.getByRole("combobox", { name: "Go to" }).waitFor();
    await page.keyboard.type("tokens");
    await press("Enter");
    await page.getByRole("heading", { name: "Tokens" }).waitFor();
    await enterAt(page, "New token");
    await page.getByRole("heading", { name: "New token" }).waitFor();
    await tabTo(page, "Principal");
    await page.keyboard.type("typed");
    await tabTo(page, /^history:read/);
    await press("Space");
    await enterAt(page, "Create the token");
    await page.locator("[data-secret]").waitFor();
    await enterAt(page, "I have stored the token");
    await page.locator("[data-token]").waitFor();
    await enterAt(page, "Rotate");
    await enterAt(page, "Create the successor");
    await page.locator("[data-secret]").waitFor();
    await enterAt(page, "I have stored the token");
    await enterAt(page, "Revoke");
    // The confirmation begins with the button that cancels.
    await page.getByRole("dialog").waitFor();
    await enterAt(page, "Revoke now");
    await page.getByText("revoked", { exact: true }).waitFor();
    await enterAt(page, "Disable");
    await enterAt(page, "Disable now");
    await page.getByText("disabled", { exact: true }).waitFor();
    expect((await tokens("typed")).map(({ active }) => active)).toEqual([false, false]);
  });

  test("that is the page's own has a warning before it is revoked, and is signed out", async () => {
    const secret = await console.token(["tokens:manage"], "own");
    const page = await console.enter("tokens?q=own", { token: secret });
    // A user cannot grant a scope that they do not have.
    await page.getByRole("link", { name: "New token" }).first().click();
    expect(await page.locator(".scope-list input").count()).toBe(1);
    await page.goBack();
    const own = page.locator("[data-token]", { hasText: "yours" });
    await own.getByRole("button", { name: "Revoke" }).click();
    await page.getByText("This is your own token").waitFor();
    await page.getByRole("button", { name: "Revoke now" }).click();
    await page.getByText("Your token is no longer valid").waitFor();
  });
});

test("the list is kept during an outage of the service, and loaded again afterwards", async () => {
  await console.token(["drivers:read"], "stays");
  const page = await console.enter("tokens?q=stays");
  await page.locator("[data-token]").waitFor();
  await console.stop();
  await page.getByText("The connection to Mooring is lost.").waitFor();
  expect(await page.locator("[data-token]").count()).toBe(1);
  await console.start();
  await console.token(["drivers:read"], "stays");
  await expect.poll(() => page.locator("[data-token]").count()).toBe(2);
});

test("very many tokens are counted, and a page of them is shown", async () => {
  for (let count = 0; count < 310; count += 1)
    await console.access.createToken({ principal: "crowd", scopes: ["drivers:read"] });
  const page = await console.enter("tokens");
  await page.getByText(/^\d+ more tokens match; search for them/).waitFor();
  expect(await page.locator("[data-token]").count()).toBe(300);
  const [, ...older] = (await tokens("crowd")).reverse();
  await page.getByRole("searchbox").fill(older[0]?.id ?? "");
  await expect.poll(() => page.locator("[data-token]").count()).toBe(1);
});

describe("the list", () => {
  test("shows creations, rotations and revocations by others immediately", async () => {
    const page = await console.enter("tokens");
    await page.locator(".token").first().waitFor();
    const request = { principal: "elsewhere", scopes: ["drivers:read"], neverExpires: true };
    const { token } = await console.access.createToken(request);
    const id = token?.id ?? "";
    await item(page, id).getByText("active").waitFor();
    const { token: next } = await console.access.rotateToken({ id, overlap: { seconds: 600n } });
    await item(page, next?.id ?? "").waitFor();
    await item(page, id).getByText("replaced by").waitFor();
    await console.access.revokeToken({ id });
    await item(page, id).getByText("revoked", { exact: true }).waitFor();
    await console.access.disablePrincipal({ name: "elsewhere" });
    await item(page, next?.id ?? "")
      .getByText("its principal is disabled")
      .waitFor();
  });

  test("is loaded again on each visit if the audit is not readable", async () => {
    const page = await console.enter("tokens", {
      token: await console.token(["tokens:manage"], "keeper"),
    });
    await page.locator(".token").first().waitFor();
    const id = (await tokens("keeper"))[0]?.id ?? "";
    await console.token(["tokens:manage"], "late");
    const [late] = await tokens("late");
    await page.evaluate('dispatchEvent(new Event("focus"))');
    await item(page, late?.id ?? "").waitFor();
    await item(page, id).waitFor();
  });
});
