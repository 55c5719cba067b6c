import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeEach, expect, test } from "vitest";
import { type StandIn, startStandIn } from "../../sites/stand-in.ts";
import { consoleTest, signIn, TOKEN, tabTo } from "./console.ts";

let site: StandIn;

const console = consoleTest({
  folder: "/@mooring/console/",
  prepare: async () => {
    site = await startStandIn();
    return { MOORING_UPSTREAM: site.url, MOORING_UPSTREAM_TOKEN: site.token() };
  },
});

afterAll(() => site?.stop());

beforeEach(() => {
  delete site.sessions.users.get("admin")?.otp;
});

const PICTURES = join(import.meta.dirname, "screenshots");

async function logIn(page: Page, name: string, password: string): Promise<void> {
  await page.getByLabel("User name", { exact: true }).fill(name);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

const inside = (page: Page) => page.locator(".shell h1").first().waitFor();
/** A page of an admin, whose login is kept in the tab. */
async function keptLogin(): Promise<Page> {
  const page = await console.open("");
  await logIn(page, "admin", "admin-password");
  await inside(page);
  return page;
}
const alert = (page: Page) => page.locator("#login-wrong");

test("an admin of the server signs in with user name and password, with the keyboard", async () => {
  const page = await console.open("settings");
  await page.getByLabel("User name", { exact: true }).waitFor();
  await page.screenshot({ path: join(PICTURES, "login.png") });
  await page.keyboard.type("admin");
  await tabTo(page, "Password");
  await page.keyboard.type("admin-password");
  await page.keyboard.press("Enter");
  await inside(page);
  await page.getByText("upstream:admin").first().waitFor();
  expect(await page.evaluate("JSON.stringify({ ...sessionStorage })")).not.toContain("password");
});

test("a login stays after a reload and in new tabs, unless the user chooses otherwise", async () => {
  const page = await keptLogin();
  await page.reload();
  await inside(page);
  const tab = await page.context().newPage();
  await tab.goto(page.url());
  await inside(tab);
  const other = await console.open("");
  await other.getByLabel("Stay signed in").uncheck();
  await logIn(other, "admin", "admin-password");
  await inside(other);
  await other.reload();
  await other.getByLabel("User name", { exact: true }).waitFor();
});

test("a token of Mooring is not readable by pages of the server, unless the user chooses it", async () => {
  const page = await console.open("");
  await page.getByRole("button", { name: "Sign in with a token" }).click();
  expect(await page.getByLabel("Stay signed in").isChecked()).toBe(false);
  await signIn(page, TOKEN);
  // Its second channel receives a question after the console's own, and answers last.
  await page.evaluate(`window.last = new BroadcastChannel("mooring");
    last.onmessage = ({ data }) => data.kind === "ask" && last.postMessage("nothing else")`);
  const server = await page.context().newPage();
  await server.goto(`${console.origin}/`);
  const answer = await server.evaluate(`new Promise((resolve) => {
    const tabs = new BroadcastChannel("mooring");
    tabs.onmessage = ({ data }) => resolve(data);
    tabs.postMessage({ kind: "ask" });
  })`);
  expect(answer).toBe("nothing else");
  await page.goto(`${console.origin}/`);
  expect(await page.evaluate("JSON.stringify({ ...sessionStorage })")).not.toContain(TOKEN);
});

test("a wrong password, an unknown user and an empty field are named", async () => {
  const page = await console.open("");
  await logIn(page, "admin", "wrong");
  await alert(page).getByText("User name or password is wrong.").waitFor();
  await logIn(page, "nobody", "wrong");
  await alert(page).getByText("User name or password is wrong.").waitFor();
  await logIn(page, "admin", "");
  await alert(page).getByText("Type a user name and a password.").waitFor();
  await page.screenshot({ path: join(PICTURES, "login-wrong.png") });
  await logIn(page, "admin", "admin-password");
  await inside(page);
});

test("a one-time code is prompted for if the server requires one", async () => {
  const admin = site.sessions.users.get("admin");
  if (admin) admin.otp = "123456";
  const page = await console.open("");
  await logIn(page, "admin", "admin-password");
  await page.getByLabel("One-time code").waitFor();
  expect(await alert(page).textContent()).toBe("");
  await page.getByLabel("One-time code").fill("000000");
  await page.keyboard.press("Enter");
  await alert(page).getByText("The one-time code is wrong.").waitFor();
  await page.screenshot({ path: join(PICTURES, "login-code.png") });
  await page.getByLabel("One-time code").fill("123456");
  await page.keyboard.press("Enter");
  await inside(page);
});

test("a user who is not an admin is refused, and their session is ended", async () => {
  const page = await console.open("");
  const out = site.count("GET /api/auth/logout");
  await logIn(page, "ann", "ann-password");
  await alert(page).getByText("You are not an admin of the server").waitFor();
  expect(site.count("GET /api/auth/logout")).toBe(out + 1);
  expect(await page.locator(".shell").count()).toBe(0);
});

test("signing out ends the session at the server as well", async () => {
  const page = await keptLogin();
  const token = await page.evaluate<string>('sessionStorage.getItem("mooring.token")');
  const isAdmin = async (): Promise<boolean> => {
    const reply = await fetch(`${console.origin}/api/me`, { headers: { authorization: token } });
    return ((await reply.json()) as { code: number }).code === 200;
  };
  expect(await isAdmin()).toBe(true);
  const out = site.count("GET /api/auth/logout");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("User name", { exact: true }).waitFor();
  await expect.poll(isAdmin).toBe(false);
  expect(site.count("GET /api/auth/logout")).toBe(out + 1);
});

test("signing out with a token of Mooring calls nothing at the server", async () => {
  const page = await console.open("");
  const out = site.count("GET /api/auth/logout");
  await page.getByRole("button", { name: "Sign in with a token" }).click();
  await signIn(page, TOKEN);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("User name", { exact: true }).waitFor();
  expect(site.count("GET /api/auth/logout")).toBe(out);
});

test("a token is accepted in place of a login", async () => {
  const page = await console.open("");
  await page.getByRole("button", { name: "Sign in with a token" }).click();
  await signIn(page, TOKEN);
  const other = await console.open("");
  await other.getByRole("button", { name: "Sign in with a token" }).click();
  await other.getByRole("button", { name: "Sign in with user name and password" }).click();
  await other.getByLabel("User name", { exact: true }).waitFor();
});

test("a logout at the server signs the console out", async () => {
  const page = await keptLogin();
  const token = await page.evaluate<string>('sessionStorage.getItem("mooring.token")');
  await fetch(`${console.origin}/api/auth/logout`, { headers: { authorization: token } });
  // A stream of the page may have detected it already, and a page that is signed out drops the
  // token.
  await page.addInitScript(`sessionStorage.setItem("mooring.token", ${JSON.stringify(token)})`);
  await page.reload();
  await page.getByText("Your token is no longer valid").waitFor();
  await page.getByLabel("User name", { exact: true }).waitFor();
});

test("the login page is in Chinese", async () => {
  const page = await console.open("", { locale: "zh-CN" });
  await page.getByLabel("用户名", { exact: true }).fill("admin");
  await page.getByLabel("密码", { exact: true }).fill("wrong");
  await page.keyboard.press("Enter");
  await alert(page).getByText("用户名或密码错误。").waitFor();
  await page.screenshot({ path: join(PICTURES, "login-zh.png") });
});

test("a value that the server refuses stays edited, with the server's message", async () => {
  site.settings.refusals.set("privacy_regs", "not this one");
  const page = await console.open("settings?q=privacy_regs");
  await logIn(page, "admin", "admin-password");
  await page.locator("#setting-privacy_regs").fill("checked");
  await page.getByRole("button", { name: "Review changes" }).click();
  await page.locator(".changes").waitFor();
  await page.getByRole("button", { name: "Save 1 change" }).click();
  const failed = page.locator(".state-box", { hasText: "not this one" });
  await failed.waitFor();
  // The server's value is restored, and the edit continues from it.
  await page.locator(".changes", { hasText: "checked" }).waitFor();
  expect(await failed.count()).toBe(1);
  await page.screenshot({ path: join(PICTURES, "refused.png") });
  expect(site.value("privacy_regs")).not.toBe("checked");
  site.settings.refusals.clear();
  await page.getByRole("button", { name: "Save 1 change" }).click();
  await page.getByText("1 change is saved").waitFor();
  expect(site.value("privacy_regs")).toBe("checked");
});

test("a server that does not answer is reported", async () => {
  const page = await console.open("");
  await site.stop();
  await logIn(page, "admin", "admin-password");
  await alert(page).getByText("The upstream server does not answer.").waitFor();
  await site.start();
});

// The last one: no login from this address afterwards.
test("an address that the server has locked is reported", async () => {
  const page = await console.open("");
  for (let tries = 0; tries < 6; tries += 1) {
    await logIn(page, "admin", `wrong ${tries}`);
    await page.getByRole("button", { name: "Sign in", exact: true, disabled: false }).waitFor();
  }
  await alert(page).getByText("Too many failed logins from this address.").waitFor();
});
