import { expect, test } from "vitest";
import { executedFiles, sizes } from "../../../tools/structure.ts";

test("sizes count sources without data", () => {
  const found = new Map(sizes().map((size) => [size.name, size]));
  expect(found.has("src/data")).toBe(false);
  const folders = [...found.values()].filter(({ name }) => name.startsWith("src/"));
  const sum = folders.reduce((lines, each) => lines + each.lines, 0);
  expect(found.get("src")?.lines).toBe(sum);
  expect(found.get("src/gateway")?.files).toBeGreaterThan(10);
});

test("executed files are those of one request on a warm connection", async () => {
  const files = await executedFiles();
  const read = files.get("REST read of the public settings") ?? [];
  expect(read).toContain("src/gateway/exchange.ts");
  // Wiring and other nouns have run before, and not for this request.
  expect(read).not.toContain("src/main.ts");
  expect(read).not.toContain("src/settings/save.ts");
  expect(files.get("save")).toContain("src/settings/save.ts");
  expect(files.get("gRPC read")).toContain("src/gateway/grpc.ts");
});
