import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Runs the files of test/slow first, so that a run does not end with one of them alone. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isFast = ({ moduleId }: TestSpecification): number =>
      Number(!moduleId.includes("/test/slow/"));
    const sorted = await super.sort(files);
    return sorted.sort((one, other) => isFast(one) - isFast(other));
  }
}
