import type { Page } from "playwright-core";
import { backupWith, chooseBackup } from "./console.ts";

/**
 * A state of a page: text to wait for, and preparation; `another` changes the site's title
 * elsewhere.
 */
interface State {
  readonly name: string;
  readonly address: string;
  readonly ready: string;
  readonly act?: (page: Page, another: (title: string) => Promise<unknown>) => Promise<void>;
}

export const states: readonly State[] = [
  { name: "overview", address: "", ready: ".revision" },
  { name: "settings", address: "settings", ready: "#setting-site_title" },
  { name: "settings-search", address: "settings?q=key", ready: "#setting-s3_access_key_id" },
  { name: "settings-preview", address: "settings?group=3", ready: "#setting-video_types" },
  { name: "settings-empty", address: "settings?q=nothing-like-it", ready: ".state-box" },
  {
    name: "settings-edited",
    address: "settings",
    ready: "#setting-site_title",
    act: async (page) => {
      await page.locator("#setting-site_title").fill("Lighthouse");
      await page.locator("#setting-default_page_size").fill("many");
      await page.locator("#setting-default_page_size-wrong .icon").waitFor();
    },
  },
  {
    name: "review",
    address: "settings",
    ready: "#setting-site_title",
    act: async (page) => {
      await page.locator("#setting-site_title").fill("Lighthouse");
      await page
        .locator("#setting-announcement")
        .fill("Welcome.\nThe harbour is open.\nAsk at the desk.");
      await page.locator(".edit-bar .main").click();
      await page.locator(".changes .side").first().waitFor();
    },
  },
  {
    name: "conflict",
    address: "settings",
    ready: "#setting-site_title",
    act: async (page, another) => {
      await page.locator("#setting-site_title").fill("Lighthouse");
      const value = `Pier ${Math.random()}`;
      await another(value);
      await page.locator(".conflict").waitFor();
    },
  },
  { name: "history", address: "history", ready: ".revision" },
  { name: "history-revision", address: "history?revision=3", ready: ".changes" },
  { name: "history-compare", address: "history?from=1&to=4", ready: ".changes" },
  { name: "history-back", address: "history?back=1", ready: ".changes" },
  { name: "history-gone", address: "history?revision=999999", ready: ".state-box" },
  { name: "drivers", address: "drivers", ready: ".drivers a" },
  { name: "driver", address: "drivers?name=S3", ready: ".result li" },
  { name: "driver-alert", address: "drivers?name=Local", ready: ".result li" },
  {
    name: "backup",
    address: "backup",
    ready: ".drop",
    act: async (page) => {
      await page.locator('input[type="radio"]').nth(1).check();
      await chooseBackup(page, backupWith("Import"));
      await page.locator(".outcomes, .notice").first().waitFor();
    },
  },
  { name: "sites", address: "sites", ready: ".sites li" },
  { name: "site", address: "sites?name=harbour", ready: ".changes .side" },
  {
    name: "site-new",
    address: "sites",
    ready: ".sites li",
    act: async (page) => {
      await page.locator(".page-head .button").click();
      await page.locator("dialog input").first().waitFor();
    },
  },
  {
    name: "site-edit",
    address: "sites?name=harbour",
    ready: ".changes .side",
    act: async (page) => {
      await page.locator(".page-head .button", { hasText: /^(Edit|编辑)$/ }).click();
      await page.locator("dialog .pairs button").last().click();
      await page.locator("dialog .pair input").waitFor();
    },
  },
  { name: "mounts", address: "mounts", ready: "[data-record]" },
  { name: "mounts-none", address: "mounts?q=nothing-like-it", ready: ".timeline-filters" },
  {
    name: "mount",
    address: "mount?name=films",
    ready: "#item-mount_path",
    act: async (page) => {
      await page.locator("form .ways .button").first().click();
      await page.locator(".block-form select").last().selectOption({ index: 1 });
      await page.locator(".block-form .ways .button").last().click();
      await page.locator(".pairs").waitFor();
    },
  },
  {
    name: "mount-copy",
    address: "mount?name=films",
    ready: "#item-mount_path",
    act: async (page) => {
      await page.locator(".page-head .button", { hasText: /^(Copy|复制)$/ }).click();
      await page.locator("dialog input").first().waitFor();
    },
  },
  { name: "rules", address: "rules", ready: "[data-record]" },
  { name: "rules-none", address: "rules?q=nothing-like-it", ready: ".state-box" },
  {
    name: "rules-of-site",
    address: "rules",
    ready: "[data-record]",
    act: async (page) => {
      await page.locator(".page-head button").first().click();
      // The one with the long name.
      await page.locator("dialog select").selectOption({ index: 1 });
      await page.locator("dialog .ways button").nth(1).click();
      await page.locator("dialog .ways .main").waitFor();
    },
  },
  {
    name: "rule",
    address: "rule?path=/films",
    ready: "main textarea",
    act: async (page) => {
      await page.locator("main details summary").first().click();
      await page.locator("main details textarea").fill("film.mkv\nfilm.tmp");
      await page.locator("main details li").first().waitFor();
      await page.locator("main details").scrollIntoViewIfNeeded();
    },
  },
  { name: "rule-new", address: "rule?new=1", ready: "main textarea" },
  { name: "mount-new", address: "mount?new=S3", ready: "#item-mount_path" },
  { name: "share-links", address: "share-links", ready: "main textarea" },
  { name: "users", address: "users?site=harbour", ready: "[data-user]" },
  { name: "webhooks", address: "webhooks", ready: ".state-box" },
  {
    name: "webhook-new",
    address: "webhooks?new=1",
    ready: "dialog input",
    act: async (page) => {
      await page.locator("dialog select").first().selectOption("7");
      await page.locator("dialog .pairs button").last().click();
      await page.locator("dialog .pair input").waitFor();
    },
  },
  {
    name: "setting-new",
    address: "settings?group=5",
    ready: ".downloaders",
    act: async (page) => {
      await page.locator(".downloaders summary").first().click();
      await page.locator(".tools > .button").click();
      await page.locator("dialog .main").click();
      await page.locator("dialog .wrong").first().waitFor();
    },
  },
  {
    name: "token",
    address: "settings?key=token",
    ready: "#setting-token",
    act: async (page) => {
      await page.locator('[data-key="token"] .secret + .button').click();
      await page.locator("dialog .danger").waitFor();
    },
  },
  { name: "tokens", address: "tokens", ready: "[data-token]" },
  { name: "tokens-none", address: "tokens?q=nothing-like-it", ready: ".state-box" },
  {
    name: "token-new",
    address: "tokens?new=1",
    ready: ".scope-list",
    act: async (page) => {
      await page.locator("#token-end").selectOption("never");
      await page.locator("main textarea").fill("key:s3_*\nno limit");
      await page.locator("main form .main").click();
      await page.locator("main form .wrong:not(:empty)").first().waitFor();
    },
  },
  {
    name: "token-made",
    address: "tokens?new=1&for=nightly",
    ready: ".scope-list",
    act: async (page) => {
      await page.locator(".scope-list input").first().check();
      await page.locator("main form .main").click();
      await page.locator("[data-secret]").waitFor();
    },
  },
  {
    name: "token-rotate",
    address: "tokens",
    ready: "[data-token]",
    act: async (page) => {
      await page.locator('.token a[href*="rotate="]').first().click();
      await page.locator("#overlap").selectOption("0");
      await page.locator(".notice").waitFor();
    },
  },
  {
    name: "token-revoke",
    address: "tokens",
    ready: "[data-token]",
    act: async (page) => {
      await page.locator(".token .how button").first().click();
      await page.locator("dialog .danger").waitFor();
    },
  },
  {
    name: "audit",
    address: "audit",
    ready: ".event",
    act: async (page) => {
      await page.locator(".event summary").first().click();
      await page.locator(".event .facts").first().waitFor();
    },
  },
  {
    name: "audit-verified",
    address: "audit",
    ready: ".verification",
    act: async (page) => {
      await page.locator(".verification button").click();
      await page.locator(".verification .notice").waitFor();
      await page.locator(".verification .notice").scrollIntoViewIfNeeded();
    },
  },
  { name: "audit-none", address: "audit?subject=nothing-like-it", ready: ".state-box" },
  {
    name: "menu-more",
    address: "tokens",
    ready: "[data-token]",
    act: async (page) => {
      const more = page.locator(".menu .more");
      if (await more.isVisible()) await more.click();
    },
  },
  {
    name: "palette",
    address: "",
    ready: ".revision",
    act: async (page) => {
      await page.keyboard.press("Control+k");
      await page.locator(".palette input").fill("s3");
      await page.locator('.palette [role="option"]').first().waitFor();
    },
  },
];
