import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { definitionList } from "../../../src/config/definition.ts";
import { needs } from "../../downloaders/program.ts";
import { temporaryFolder } from "../../temporary.ts";

const ROOT = join(import.meta.dirname, "../../..");
const unit = readFileSync(join(ROOT, "packaging/systemd/mooring.service"), "utf8");
const image = readFileSync(join(ROOT, "tools/image.ts"), "utf8");
const variables = definitionList.map(({ variable }) => variable as string);

describe("the systemd unit", () => {
  beforeEach(needs("systemd-analyze"));

  /** The unchanged unit, except for the program, which must exist for systemd. */
  function unitFile(): string {
    const folder = temporaryFolder();
    const file = join(folder, "mooring.service");
    const program = join(ROOT, "packaging/launcher/linux/mooring");
    writeFileSync(file, unit.replace("ExecStart=/opt/mooring/mooring", `ExecStart=${program}`));
    return file;
  }

  test("has no warnings of systemd-analyze verify", () => {
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", unitFile()], {
      encoding: "utf8",
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  test("has an exposure below 2 of 10 in systemd-analyze security", () => {
    const args = ["security", "--offline=true", "--threshold=20", "--no-pager", unitFile()];
    const { status, stdout, stderr } = spawnSync("systemd-analyze", args, { encoding: "utf8" });
    expect(status, stdout + stderr).toBe(0);
  });
});

test.each([
  ["unit", unit],
  ["image", image],
])("the %s has existing variables only", (_name, text) => {
  const named = [...text.matchAll(/MOORING_[A-Z_]+/g)].map(([name]) => name);
  expect(named.length).toBeGreaterThan(0);
  expect(variables).toEqual(expect.arrayContaining(named));
});

test("every way to start it releases memory after a flood of requests", () => {
  const script = readFileSync(join(ROOT, "packaging/launcher/linux/mooring"), "utf8");
  expect(unit).toMatch(/^Environment=MALLOC_TRIM_THRESHOLD_=131072 MALLOC_MMAP_THRESHOLD_=32768$/m);
  expect(image).toMatch(/"MALLOC_TRIM_THRESHOLD_=131072",\s+"MALLOC_MMAP_THRESHOLD_=32768"/);
  expect(script).toMatch(/^export MALLOC_TRIM_THRESHOLD_=.*131072/m);
});
