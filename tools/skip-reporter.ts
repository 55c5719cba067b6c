import type { Reporter, TestCase, TestModule, TestSuite } from "vitest/node";

/** Prints skipped tests at the end of a run, one line per reason. */
export default class SkipReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = new Map<string, number>();
    for (const module of modules)
      for (const test of module.children.allTests("skipped")) {
        const reason = reasonOf(test);
        counts.set(reason, (counts.get(reason) ?? 0) + 1);
      }
    for (const [reason, count] of counts)
      process.stdout.write(`skipped: ${reason} (${count} test${count === 1 ? "" : "s"})\n`);
  }
}

/** Note of the skipped test, or the name of a skipped suite. */
function reasonOf(test: TestCase): string {
  const result = test.result();
  if ("note" in result && result.note !== undefined) return result.note;
  let skipped: TestCase | TestSuite = test;
  while (skipped.parent.type === "suite" && skipped.parent.options.mode === "skip")
    skipped = skipped.parent;
  return skipped.name;
}
