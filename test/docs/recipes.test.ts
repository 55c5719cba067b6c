import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** The recipes for proxies that a page shows; test/slow/proxy runs them. */
const RECIPES = {
  "operating.md": ["nginx/mooring.conf", "caddy/Caddyfile"],
  "beside-your-server.md": [
    "nginx/beside.conf",
    "nginx/front.conf",
    "caddy/beside.Caddyfile",
    "caddy/front.Caddyfile",
  ],
};

const shown = Object.entries(RECIPES).flatMap(([page, files]) =>
  ["docs", "docs/zh-CN"].flatMap((folder) => files.map((file) => [`${folder}/${page}`, file])),
);

test.each(shown)("%s shows packaging/%s as it is", (page = "", file = "") => {
  const blocks = readFileSync(page, "utf8").matchAll(/^```\w*\n([\s\S]*?)^```$/gm);
  const recipe = readFileSync(`packaging/${file}`, "utf8");
  expect([...blocks].map(([, text]) => text)).toContain(recipe);
});
