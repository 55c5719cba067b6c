import { expect, test } from "vitest";
import { renderMarkdown } from "../../tools/site/markdown.ts";

/** Pages of the site by their files; other files are not in it. */
const pages: Readonly<Record<string, string>> = {
  "audit.md": "/audit",
  "audit.md#rows": "/audit#rows",
};
const render = (text: string): string => renderMarkdown(text, "/start", (href) => pages[href]).html;

test.each([
  ["[audit](audit.md)", '<a href="/docs/audit">audit</a>'],
  ["[its `rows`](audit.md#rows)", '<a href="/docs/audit#rows">its <code>rows</code></a>'],
  ["[a [b] c](audit.md)", '<a href="/docs/audit">a [b] c</a>'],
  ['[audit](audit.md "title")', '<a href="/docs/audit">audit</a>'],
  ["[audit][1]\n\n[1]: audit.md", '<a href="/docs/audit">audit</a>'],
  ["[the `source`](../src/main.ts)", "the <code>source</code>"],
])("a link to a file, %s, leads to its page, or is text", (text, html) => {
  expect(render(text).trim()).toBe(`<p>${html}</p>`);
});

test.each([
  ["`[audit](audit.md)`", "<code>[audit](audit.md)</code>"],
  ["```\n[audit](audit.md)\n```", "<code>[audit](audit.md)"],
])("code shows a link as it is written: %s", (text, html) => {
  expect(render(text)).toContain(html);
});
