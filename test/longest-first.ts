import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest. The examples find compiled what the first one needs, too. */
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

/** Begins with the longest files, so that a run does not end with one of them alone. */
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
