import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The slowest files. The examples also use programs that the first one compiles. */
const LONGEST = [
  "conformance/conformance",
  "process/instances",
  "wire/upstream",
  "console/look",
  "process/site",
  "console/live",
  "package/installed",
  "package/production",
  "examples/examples",
];

/** Runs the slowest files first, so that a run does not end with one of them alone. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      return at < 0 ? LONGEST.length : at;
    };
    const sorted = await super.sort(files);
    return sorted.sort((one, other) => rank(one) - rank(other));
  }
}
