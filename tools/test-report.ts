// Reads the JSON report of a run of the tests.
import { readFileSync } from "node:fs";
import { relative } from "node:path";

interface TestFile {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly {
    readonly fullName: string;
    readonly status: string;
    readonly failureMessages?: readonly string[] | null;
  }[];
}

export interface TestReport {
  readonly numPassedTests?: number;
  readonly numFailedTests?: number;
  readonly numPendingTests?: number;
  readonly testResults?: readonly TestFile[];
}

/** @returns an empty report if the run did not get as far as writing it. */
export function readTestReport(file: string): TestReport {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return {};
  }
}

/** Failed tests, and files that could not be loaded, each with its message. */
export function failuresOf({ testResults = [] }: TestReport) {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(process.cwd(), name);
    const tests = assertionResults.filter((test) => test.status === "failed");
    if (status === "failed" && tests.length === 0) return [{ test: `${file} as a whole`, message }];
    return tests.map(({ fullName, failureMessages }) => ({
      test: `${file} > ${fullName}`,
      message: (failureMessages ?? []).join("\n"),
    }));
  });
}
