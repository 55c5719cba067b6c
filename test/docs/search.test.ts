import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { siteContent } from "../../tools/site/content.ts";
import { renderMarkdown } from "../../tools/site/markdown.ts";
import { entriesOf } from "../../tools/site/search-index.ts";
import { type Entry, findEntries } from "../../tools/site/theme/search.ts";

const ROOT = join(import.meta.dirname, "../..");

const entries = siteContent(ROOT)
  .pages.filter(({ language }) => language === "en")
  .flatMap(({ path, text, title }): Entry[] => {
    const { html, headings } = renderMarkdown(text, path);
    return entriesOf(path, title ?? headings[0]?.text ?? "", html);
  });

describe("the search of the documentation", () => {
  test.each(["docker", "compose", "arm64", "NAS", "nas synology"])("finds %s", (query) => {
    const found = findEntries(entries, query, 3).map(({ path }) => path.split("#")[0]);
    expect(found).toContain("containers");
  });

  test.each(["memory", "start", "proxy", "backup", "docker"])(
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
