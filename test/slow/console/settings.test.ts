import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { consoleTest, enterAt, signIn } from "./console.ts";

const console = consoleTest();

const field = (page: Page, key: string) => page.locator(`#setting-${key}`);

describe("signing in", () => {
  test("prompts for a token, and shows the service's message for a wrong one", async () => {
    const page = await console.open("settings");
    await expect.poll(() => page.title()).toBe("Sign in · Mooring");
    await page.locator("#token").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect.poll(() => page.locator("#token-wrong").textContent()).toMatch(/token/i);
    await signIn(page);
    await expect.poll(() => page.title()).toBe("Settings · Mooring");
  });
});

describe("a change", () => {
  test("is edited, reviewed as the service's own difference and saved with its reason", async () => {
    const page = await console.enter("settings");
    await field(page, "site_title").fill("Lighthouse");
    await field(page, "allow_indexed").click();
    await page.getByRole("button", { name: "Review changes" }).click();
    await page.locator(".changes").waitFor();
    const difference = await page.locator(".changes").innerText();
    expect(difference).toContain("OpenList");
    expect(difference).toContain("Lighthouse");
    await page.getByLabel("Reason").fill("A better name");
    await page.getByRole("button", { name: "Save 2 changes" }).click();
    await page.getByText("2 changes are saved").waitFor();
    expect(await console.saved("site_title")).toBe("Lighthouse");
    expect(await console.saved("allow_indexed")).toBe("true");
    const { revisions } = await console.settings.listRevisions({ pageSize: 1 });
    expect(revisions[0]).toMatchObject({ reason: "A better name", transport: "connect" });
    await field(page, "site_title").waitFor();
    expect(await page.locator(".edit-bar").count()).toBe(0);
  });

  test("is made with the keyboard alone", async () => {
    const page = await console.enter("overview");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Go to" }).waitFor();
    await page.keyboard.type("default_page_size");
    await expect
      .poll(() => page.locator('[role="option"][aria-selected="true"]').innerText())
      .toContain("default_page_size");
    await page.keyboard.press("Enter");
    await field(page, "default_page_size").waitFor();
    await expect
      .poll(() => page.evaluate("document.activeElement.id"))
      .toBe("setting-default_page_size");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Shift+ArrowUp");
    await expect.poll(() => field(page, "default_page_size").inputValue()).toBe("41");
    await enterAt(page, "Review changes");
    await page.locator(".changes").waitFor();
    await enterAt(page, "Save 1 change");
    await page.getByText("1 change is saved").waitFor();
    expect(await console.saved("default_page_size")).toBe("41");
  });

  test("that is refused has a message at each invalid field", async () => {
    const page = await console.enter("settings");
    await field(page, "default_page_size").fill("many");
    await page.getByRole("button", { name: "Global" }).click();
    await field(page, "ocr_api").fill("not an address");
    await expect.poll(() => page.locator("#setting-ocr_api-wrong").innerText()).not.toBe("");
    await page.getByRole("button", { name: "Review changes" }).click();
    await page.getByText("2 values are refused").waitFor();
    await page.locator(".notice a", { hasText: "default_page_size" }).click();
    await expect
      .poll(() => page.locator("#setting-default_page_size-wrong").innerText())
      .toContain("whole number");
    expect(await field(page, "default_page_size").getAttribute("aria-invalid")).toBe("true");
    await field(page, "default_page_size").fill("20");
    await expect.poll(() => page.locator("#setting-default_page_size-wrong").innerText()).toBe("");
  });

  test("is undone, and a value reset to its default", async () => {
    await console.change("home_container", "hope_container");
    const page = await console.enter("settings?key=home_container");
    const row = page.locator('[data-key="home_container"]');
    await row.getByRole("button", { name: /^Reset to/ }).click();
    expect(await field(page, "home_container").inputValue()).toBe("max_980px");
    await row.getByRole("button", { name: "Undo edit" }).click();
    expect(await field(page, "home_container").inputValue()).toBe("hope_container");
    expect(await page.locator(".edit-bar").count()).toBe(0);
  });

  test("that is not saved yet is kept across the other pages", async () => {
    const page = await console.enter("settings");
    await field(page, "site_title").fill("Not yet");
    await page.getByRole("link", { name: "History" }).first().click();
    await page.getByRole("heading", { name: "History" }).waitFor();
    await page.goBack();
    await expect.poll(() => field(page, "site_title").inputValue()).toBe("Not yet");
  });
});

describe("editors", () => {
  test("of choices, switches and colours return the displayed values", async () => {
    const page = await console.enter("settings?group=2");
    await field(page, "main_color").waitFor();
    await page.getByLabel("Pick a colour").fill("#0b5f7c");
    await field(page, "settings_layout").selectOption("responsive");
    await page.getByRole("button", { name: "Site", exact: true }).click();
    await field(page, "allow_mounted").click();
    await expect.poll(() => page.locator(".edit-bar").innerText()).toContain("3 edits");
    await page.getByRole("button", { name: "Review changes" }).click();
    await page.getByRole("button", { name: "Save 3 changes" }).click();
    await page.getByText("3 changes are saved").waitFor();
    expect(await console.saved("main_color")).toBe("#0b5f7c");
    expect(await console.saved("settings_layout")).toBe("responsive");
    expect(await console.saved("allow_mounted")).toBe("false");
  });

  test("of lists remove names and add pasted ones", async () => {
    const page = await console.enter("settings?key=video_types");
    await page.getByRole("button", { name: "Remove mp4" }).click();
    const types = field(page, "video_types");
    await types.fill("ogv, 3gp,");
    await types.press("Backspace");
    // An input method uses keys itself while it composes characters.
    await types.dispatchEvent("keydown", { key: "Backspace", isComposing: true });
    await types.fill("half");
    await types.dispatchEvent("keydown", { key: "Enter", isComposing: true });
    expect(await types.inputValue()).toBe("half");
    await types.fill("");
    await page.getByRole("button", { name: "Review changes" }).click();
    await page.locator(".side.added").waitFor();
    const added = await page.locator(".side.added").innerText();
    expect(added).toContain("ogv");
    expect(added).not.toMatch(/mp4|3gp|half/);
  });

  test("of JSON show the position of an error, and go to it", async () => {
    const page = await console.enter("settings?key=filename_char_mapping");
    await field(page, "filename_char_mapping").fill('{\n  "a": "b",\n  c: 1\n}');
    await page.getByRole("button", { name: "This is not JSON at line 3, column 3" }).click();
    const selected =
      "((area) => area.value.slice(area.selectionStart, area.selectionEnd))(document.activeElement)";
    expect(await page.evaluate(selected)).toBe("c");
  });

  test("of secrets show nothing until requested, by a separate call", async () => {
    await console.change("aria2_secret", "hush-hush");
    const page = await console.enter("settings?key=aria2_secret");
    await field(page, "aria2_secret").waitFor();
    expect(await page.content()).not.toContain("hush-hush");
    await page.getByRole("button", { name: "Show the value" }).click();
    await expect.poll(() => field(page, "aria2_secret").inputValue()).toBe("hush-hush");
    await page.getByRole("button", { name: "Hide the value" }).click();
    await expect.poll(() => field(page, "aria2_secret").inputValue()).toBe("");
    await field(page, "aria2_secret").fill("another-secret");
    await page.getByRole("button", { name: "Review changes" }).click();
    await page.getByText("A new secret value").waitFor();
    expect(await page.locator("main").innerText()).not.toContain("another-secret");
    await page.getByRole("button", { name: "Save 1 change" }).click();
    await page.getByText("1 change is saved").waitFor();
    expect(await console.saved("aria2_secret")).toBe("another-secret");
  });

  test("show values as text, never as HTML", async () => {
    const hostile = '<img src=x onerror="alert(1)"><script>alert(2)</script>';
    await console.settings.saveSettings({
      settings: [
        { key: "announcement", value: hostile },
        { key: "zz_custom", value: hostile, help: hostile },
      ],
      reason: hostile,
    });
    const page = await console.enter("settings?key=zz_custom");
    await expect.poll(() => field(page, "zz_custom").inputValue()).toBe(hostile);
    await page.goto(`${console.origin}/console/history`);
    await page.getByText(hostile).first().waitFor();
    expect(await page.locator("img, main script").count()).toBe(0);
  });
});

describe("a custom setting", () => {
  test("is created, and deleted after a confirmation", async () => {
    const page = await console.enter("settings");
    await page.getByRole("button", { name: "New" }).click();
    await page.getByRole("button", { name: "Create" }).click();
    await page.locator("dialog .wrong").waitFor();
    await page.getByLabel("Key").fill("opening_hours");
    await page.getByLabel("Value").fill("9 to 5");
    await page.getByLabel("Description").fill("Shown at the transport.");
    await page.getByRole("button", { name: "Create" }).click();
    await expect.poll(() => field(page, "opening_hours").inputValue()).toBe("9 to 5");
    const row = page.locator('[data-key="opening_hours"]');
    await row.getByRole("button", { name: "Delete" }).click();
    await row.getByRole("button", { name: "Delete now" }).click();
    await page.getByText("No setting matches.").waitFor();
    await expect(console.saved("opening_hours")).rejects.toThrow("not_found");
  });
});

describe("download managers", () => {
  test("that do not answer are not stored, and the failed step is named", async () => {
    const page = await console.enter("settings?group=5");
    await page.getByText("Connect aria2").click();
    await page.getByLabel("Address", { exact: true }).fill("http://127.0.0.1:9/jsonrpc");
    await page.getByRole("button", { name: "Test and save" }).first().click();
    await page.locator(".downloaders .notice.wrong").waitFor();
    expect(await page.locator(".downloaders .notice").innerText()).toContain("aria2");
    expect(await console.saved("aria2_uri")).not.toContain(":9/");
  });
});

describe("finding", () => {
  test("searches keys, names, help and values, and filters by marks", async () => {
    const page = await console.enter("settings");
    await field(page, "site_title").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("folder hidden");
    const keys = () =>
      page
        .locator("[data-key]")
        .evaluateAll((rows) => rows.map((row) => row.getAttribute("data-key")));
    await expect.poll(keys).not.toContain("site_title");
    await page.getByRole("searchbox").fill("S3 key");
    await expect.poll(keys).toEqual(["s3_access_key_id", "s3_secret_access_key"]);
    await page.getByRole("button", { name: /^Secret/ }).click();
    await expect.poll(keys).toEqual(["s3_secret_access_key"]);
    await expect.poll(() => page.url()).toContain("q=S3+key&marks=secret");
    await page.getByRole("searchbox").fill("no such thing");
    await page.getByText("No setting matches.").waitFor();
  });
});
