import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createCssVariablesTheme } from "shiki";
import { defineConfig } from "vitepress";
import { navigation, type Sidebars } from "./navigation.ts";
import { tokenize } from "./tokenize.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const { version } = JSON.parse(readFileSync(here("../../package.json"), "utf8"));
/** Generated pages: their sidebars, by language. */
const sidebars: Sidebars = JSON.parse(readFileSync(here("../content/sidebars.json"), "utf8"));

/**
 * Options of the search index. VitePress sends functions among the options to browsers as text and
 * evaluates them there, which the content security policy forbids: `withoutTokenizer` removes this one
 * once the index is complete, and browsers get it from `search.ts`.
 */
const miniSearch: { options?: { tokenize: typeof tokenize } } = { options: { tokenize } };

/** VitePress writes the site's data after the bundle of the client. */
const withoutTokenizer = {
  name: "without-tokenizer",
  generateBundle(): void {
    delete miniSearch.options;
  },
};

const searchInBrowser = {
  name: "search-in-browser",
  enforce: "pre" as const,
  resolveId: (id: string, importer = ""): string | undefined =>
    id === "minisearch" && importer.includes("VPLocalSearchBox") ? here("search.ts") : undefined,
};

/** Highlighted text has classes: the policy allows no style attributes. */
const tokenClasses = {
  name: "token-classes",
  span(node: { properties: Record<string, unknown> }): void {
    const [, name] = /--shiki-token-([a-z-]+)/.exec(String(node.properties["style"])) ?? [];
    delete node.properties["style"];
    if (name !== undefined) node.properties["class"] = `token-${name}`;
  },
  pre(node: { properties: Record<string, unknown> }): void {
    delete node.properties["style"];
  },
};

export default defineConfig({
  srcDir: "content",
  outDir: "dist",
  cacheDir: ".cache",
  base: "/docs/",
  cleanUrls: true,
  metaChunk: true,
  // Otherwise the switch of the appearance adds a style element.
  appearance: { disableTransition: false },
  // The two style attributes of the theme are in style.css.
  transformHtml: (html) => html.replace(/(<[^>]*) style="[^"]*"/g, "$1"),
  ignoreDeadLinks: "localhostLinks",
  title: "Mooring",
  locales: {
    root: { label: "English", lang: "en", ...navigation("en", sidebars.en, version) },
    "zh-CN": {
      label: "简体中文",
      lang: "zh-CN",
      ...navigation("zh-CN", sidebars["zh-CN"], version),
    },
  },
  themeConfig: {
    search: {
      provider: "local",
      options: {
        miniSearch,
        // The common items of storages are on every page of a driver, and found on their own page.
        _render: (source, env, md) => {
          const html = md.render(source, env);
          return env.frontmatter?.["search"] === false
            ? ""
            : (html.split("<!-- rest -->")[0] ?? "");
        },
        locales: { "zh-CN": { translations: searchWords() } },
      },
    },
  },
  markdown: {
    theme: createCssVariablesTheme({ name: "mooring" }),
    codeTransformers: [tokenClasses],
    anchor: { slugify: anchorOf },
    attrs: { disable: true },
    linkify: false,
    config: (md) => {
      // Vue takes two braces in a text for an expression.
      const { rules } = md.renderer;
      const { text, code_inline: code } = rules;
      if (text) rules.text = (...args) => text(...args).replaceAll("{", "&#123;");
      if (code) rules.code_inline = (...args) => code(...args).replaceAll("{", "&#123;");
    },
  },
  vite: {
    plugins: [withoutTokenizer, searchInBrowser],
    build: { assetsInlineLimit: 0, chunkSizeWarningLimit: 10_000 },
  },
});

/** Anchors as web sites of repositories make them of headings. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-");
}

function searchWords() {
  return {
    button: { buttonText: "搜索", buttonAriaLabel: "搜索" },
    modal: {
      displayDetails: "显示详细列表",
      resetButtonTitle: "清除",
      backButtonTitle: "关闭搜索",
      noResultsText: "没有结果：",
      footer: {
        selectText: "选择",
        navigateText: "切换",
        closeText: "关闭",
      },
    },
  };
}
