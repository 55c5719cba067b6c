import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/** The script of axe, which checks the accessibility of a page. */
export const AXE = readFileSync(
  createRequire(import.meta.url).resolve("axe-core/axe.min.js"),
  "utf8",
);

/**
 * Runs in the page: violations of all rules of axe or some, elements that are cut, and whether the
 * page scrolls sideways.
 */
export function faultsBy(rules?: readonly string[]): string {
  const asked =
    rules?.length === 0
      ? "Promise.resolve({ violations: [] })"
      : `axe.run(${rules ? JSON.stringify({ runOnly: rules }) : ""})`;
  return `${asked}.then(({ violations }) => [
    ...violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => [id, html.slice(0, 200), failureSummary].join(" "))),
    ...[...document.querySelectorAll("main *, dialog *")]
      .filter((one) => one.getBoundingClientRect().right >
          (one.parentElement.closest("dialog")?.getBoundingClientRect().right ?? innerWidth) + 1 &&
        one.checkVisibility() &&
        one.closest(".table, .groups, pre, .unseen") === null)
      .slice(0, 3)
      .map((one) => "is cut: " + one.outerHTML.slice(0, 200)),
    ...(document.documentElement.scrollWidth > document.documentElement.clientWidth
      ? ["it is wider than its screen"] : []),
  ])`;
}
