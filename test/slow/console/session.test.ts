import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterEach, describe, expect, test } from "vitest";
import { consoleTest, signIn, TOKEN } from "./console.ts";

const console = consoleTest();

const field = (page: Page, key: string) => page.locator(`#setting-${key}`);
const isInside = (page: Page) => page.locator(".shell h1").first().waitFor();
const isOutside = (page: Page) => page.locator("#token").waitFor();
const signOut = (page: Page) => page.getByRole("button", { name: "Sign out" }).first().click();
const stores = (page: Page) =>
  page.evaluate<string>(
    "JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])",
  );

/** Another tab of the same browser. */
async function tabOf(page: Page, address = "settings"): Promise<Page> {
  const tab = await page.context().newPage();
  await tab.goto(`${console.origin}/console/${address}`);
  return tab;
}

/** Reloads a page, and confirms that it is left. */
async function reload(page: Page): Promise<void> {
  page.once("dialog", (dialog) => void dialog.accept());
  await page.reload();
}

describe("a session", () => {
  test("stays after a reload, and is in no cookie and not in the storage of all tabs", async () => {
    const page = await console.enter("settings");
    await page.reload();
    await isInside(page);
    const kept = await page.evaluate("JSON.stringify([{ ...localStorage }, document.cookie])");
    expect(kept).not.toContain(TOKEN);
  });

  test("is taken over by new tabs, also of a token without the right to read settings", async () => {
    for (const token of [TOKEN, await console.token(["history:read"])]) {
      const page = await console.enter("history", { token });
      const refused: string[] = [];
      const tab = await page.context().newPage();
      tab.on("response", (reply) => void (reply.ok() || refused.push(reply.url())));
      await tab.goto(`${console.origin}/console/history`);
      await isInside(tab);
      expect(refused).toEqual([]);
      await page.close();
      await tab.reload();
      await isInside(tab);
    }
  });

  test("begins in all tabs that wait for a sign-in", async () => {
    const page = await console.open("settings");
    const tab = await tabOf(page);
    await isOutside(tab);
    await signIn(page);
    await isInside(tab);
  });

  test("in memory only ends with a reload, and is given to no tab", async () => {
    const page = await console.open("settings");
    await page.getByLabel("Stay signed in").uncheck();
    await signIn(page);
    expect(await stores(page)).not.toContain(TOKEN);
    const tab = await tabOf(page);
    await isOutside(tab);
    await page.reload();
    await isOutside(page);
  });

  test("ends in all tabs, with any token, and leaves nothing behind for the next user", async () => {
    const page = await console.enter("settings");
    const tab = await tabOf(page);
    await isInside(tab);
    await field(tab, "site_title").fill("Unfinished");
    const other = await page.context().newPage();
    // Signed in with a token of its own.
    await other.addInitScript(
      'if (!sessionStorage.getItem("mooring.test")) { sessionStorage.setItem("mooring.test", "1");' +
        " window.BroadcastChannel = class { postMessage() {} } }",
    );
    await other.goto(`${console.origin}/console/history`);
    await signIn(other, await console.token(["history:read"]));
    await other.reload();
    await isInside(other);
    await signOut(page);
    for (const one of [page, tab, other]) {
      await isOutside(one);
      // Only the tab of the button needs no explanation.
      const explanation = one.getByText("You signed out in another tab.");
      expect(await explanation.count()).toBe(one === page ? 0 : 1);
      expect(await stores(one)).not.toMatch(new RegExp(`${TOKEN}|Unfinished`));
    }
    await tab.reload();
    await isOutside(tab);
  });

  test("is not continued by a tab that did not run at the sign-out", async () => {
    const page = await console.enter("settings");
    const tab = await tabOf(page);
    await isInside(tab);
    // The tab is elsewhere, so that no message reaches it.
    await tab.goto(`${console.origin}/healthz`);
    await signOut(page);
    await isOutside(page);
    await tab.goBack();
    await isOutside(tab);
  });

  test("ends in all tabs and browsers when its token is revoked", async () => {
    const { secret, token } = await console.access.createToken({
      principal: "leaving",
      scopes: ["settings:read"],
    });
    const page = await console.enter("settings", { token: secret });
    const tab = await tabOf(page);
    await isInside(tab);
    const browser = await console.enter("settings", { token: secret });
    await console.access.revokeToken({ id: token?.id ?? "" });
    for (const one of [page, tab, browser]) {
      await one.getByText("Your token is no longer valid").waitFor();
      expect(await stores(one)).not.toContain(secret);
    }
  });
});

describe("unsaved edits", () => {
  test("stay after a reload, except those of secrets, which are named", async () => {
    const page = await console.enter("settings?key=site_title");
    await field(page, "site_title").fill("After the reload");
    await page.getByRole("searchbox").fill("aria2_secret");
    await field(page, "aria2_secret").fill("hidden-value");
    expect(await stores(page)).not.toContain("hidden-value");
    await reload(page);
    await page.getByText("Edits of secrets are not kept: aria2_secret.").waitFor();
    await page.getByText("1 edit", { exact: true }).waitFor();
    await page.getByRole("searchbox").fill("site_title");
    await expect.poll(() => field(page, "site_title").inputValue()).toBe("After the reload");
    await page.getByRole("button", { name: "Review changes" }).click();
    await page.getByRole("button", { name: "Save 1 change" }).click();
    await page.getByText("1 change is saved").waitFor();
    expect(await stores(page)).not.toContain("After the reload");
  });

  test("are in conflict with a change that was made while the page was reloaded", async () => {
    const page = await console.enter("settings?key=site_title");
    await field(page, "site_title").fill("Mine");
    page.once("dialog", (dialog) => void dialog.accept());
    await page.goto(`${console.origin}/healthz`);
    await console.change("site_title", "Theirs");
    await page.goBack();
    const conflict = page.locator(".conflict");
    await conflict.waitFor();
    for (const value of ["Theirs", "Mine"]) expect(await conflict.innerText()).toContain(value);
  });

  test("return after an ended token for the same principal, and for no other", async () => {
    const make = (principal: string) =>
      console.access.createToken({ principal, scopes: ["settings:read", "settings:write"] });
    const first = await make("edith");
    const page = await console.enter("settings?key=site_title", { token: first.secret });
    await field(page, "site_title").fill("Edith's");
    await console.access.revokeToken({ id: first.token?.id ?? "" });
    await isOutside(page);
    await signIn(page, (await make("edith")).secret);
    await expect.poll(() => field(page, "site_title").inputValue()).toBe("Edith's");
    await reload(page);
    await expect.poll(() => field(page, "site_title").inputValue()).toBe("Edith's");
    await console.access.disablePrincipal({ name: "edith" });
    await isOutside(page);
    await signIn(page, (await make("frank")).secret);
    await field(page, "site_title").waitFor();
    expect(await page.locator(".edit-bar").count()).toBe(0);
    expect(await stores(page)).not.toContain("Edith's");
  });
});

describe("an attack", () => {
  const servers: ReturnType<typeof createServer>[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  test("from another port of the host finds no session to use, and cannot frame the console", async () => {
    const victim = await console.enter("settings");
    const server = createServer((_, reply) => reply.setHeader("content-type", "text/html").end(""));
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const evil = await victim.context().newPage();
    await evil.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    // What a form, a script of another origin and its tabs can do with the user's browser.
    const attempts = await evil.evaluate<readonly unknown[]>(`(async () => {
      const target = ${JSON.stringify(console.origin)};
      const heard = [];
      const tabs = new BroadcastChannel("mooring");
      tabs.onmessage = ({ data }) => heard.push(data);
      tabs.postMessage({ kind: "ask" });
      const call = (init) => fetch(target + "/mooring.v1.SettingService/ListSettings", init)
        .then((reply) => reply.type + " " + reply.status, () => "blocked");
      const post = { method: "POST", credentials: "include" };
      const simple = await call({ ...post, mode: "no-cors", body: "{}" });
      const json = await call({ ...post, headers: { "content-type": "application/json" }, body: "{}" });
      return [simple, json, ...heard];
    })()`);
    expect(attempts).toEqual(["opaque 0", "blocked"]);
    const opening = evil.waitForEvent("popup");
    await evil.evaluate(
      `void (window.opened = open(${JSON.stringify(`${console.origin}/console/`)}))`,
    );
    await isInside(await opening);
    expect(
      await evil.evaluate("try { opened.sessionStorage.length } catch ({ name }) { name }"),
    ).toBe("SecurityError");
    await evil.evaluate(`new Promise((done) => {
      const frame = document.createElement("iframe");
      frame.src = ${JSON.stringify(`${console.origin}/console/`)};
      frame.onload = done;
      document.body.append(frame);
    })`);
    const frames = evil.frames().filter((frame) => frame !== evil.mainFrame());
    for (const frame of frames) expect(await frame.locator(".shell").count()).toBe(0);
    const { settings } = await console.settings.listSettings({ maskSecrets: true });
    expect(settings.length).toBeGreaterThan(0);
  });

  test("by markup in a value runs no script", async () => {
    const value = '<img src=x onerror="window.stolen=1"><script>window.stolen=1</script>';
    await console.change("site_title", value);
    for (const address of ["overview", "settings?key=site_title", "history"]) {
      const page = await console.enter(address);
      await page.locator("main:not(:has(.skeleton)) h1").waitFor();
      expect(await page.evaluate("window.stolen")).toBeUndefined();
    }
    await console.change("site_title", "Calm");
  });
});
