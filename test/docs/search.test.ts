import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { siteContent } from "../../tools/site/content.ts";
import { renderMarkdown } from "../../tools/site/markdown.ts";
import { type SearchedPage, searchIndex } from "../../tools/site/search-index.ts";
import { type Entry, findEntries } from "../../tools/site/theme/search.ts";

const ROOT = join(import.meta.dirname, "../..");

const pages = siteContent(ROOT).pages.map(({ text, ...page }): SearchedPage => {
  const { html, headings } = renderMarkdown(text, page.path);
  return { ...page, html, title: page.title ?? headings[0]?.text ?? "" };
});
const entries = searchIndex("en", pages);
const chinese = searchIndex("zh-CN", pages);

describe("the search of the documentation", () => {
  test.each(["docker", "compose", "arm64", "NAS", "synology", "nas synology"])(
    "finds %s in both languages",
    (query) => {
      const pagesOf = (all: readonly Entry[]) =>
        findEntries(all, query, 3).map(({ path }) => path.split("#")[0]);
      expect(pagesOf(entries)).toContain("containers");
      expect(pagesOf(chinese)).toContain("zh-CN/containers");
    },
  );

  test.each([
    ["容器", "operating#容器"],
    ["群晖", "containers"],
    ["反向代理", "operating#在反向代理之后"],
    ["检查点", "audit#如何证明"],
    ["退出码", "cli#用于脚本"],
    ["rollback", "cli#rollback"],
    ["MOORING_LISTEN", "configuration"],
  ])("finds %s in Chinese", (query, path) => {
    const found = findEntries(chinese, query, 5).map((entry) => entry.path);
    expect(found).toContain(`zh-CN/${path}`);
  });

  test("finds English pages without a translation in Chinese, below Chinese pages", () => {
    const pathsOf = (query: string) => findEntries(chinese, query, 9).map(({ path }) => path);
    expect(pathsOf("docker")[0]).toBe("zh-CN/containers");
    expect(pathsOf("mooring_incidents")).toContain("zh-CN/incidents#发送");
    expect(pathsOf("kysely").some((path) => path.startsWith("dependencies"))).toBe(true);
    const english = chinese.filter(({ path }) => !path.startsWith("zh-CN/"));
    expect(english.filter(({ path }) => path.startsWith("decisions/"))).toEqual([]);
    expect(english.filter(({ path }) => path.startsWith("containers"))).toEqual([]);
  });

  test.each(["memory", "start", "proxy", "backup", "docker", "compose", "arm64", "nas", "audit"])(
    "%s: pages for operators come before decision records",
    (query) => {
      const found = findEntries(entries, query, 10).map(({ path }) => path);
      expect(found.length).toBeGreaterThan(2);
      expect(found.slice(0, 5).filter((path) => path.startsWith("decisions/"))).toEqual([]);
    },
  );

  test.each([
    ["default_page_size", "setting/site#default_page_size"],
    ["MOORING_LISTEN", "configuration"],
  ])("finds %s", (query, path) => {
    expect(findEntries(entries, query).map((entry) => entry.path)).toContain(path);
  });

  test("needs all words, and matches Latin words at their beginning", () => {
    const entry = (title: string): Entry => ({ path: "", title, heading: "", text: "", weight: 1 });
    const list = [entry("red boat"), entry("red sail"), entry("shred boat")];
    expect(findEntries(list, "red boat").map(({ title }) => title)).toEqual(["red boat"]);
    expect(findEntries(list, "  ")).toEqual([]);
  });

  test("finds Chinese words anywhere", () => {
    const entry: Entry = { path: "", title: "", heading: "修改站点名称", text: "", weight: 1 };
    expect(findEntries([entry], "站点名称")).toEqual([entry]);
    expect(findEntries([entry], "站点密钥")).toEqual([]);
  });
});
