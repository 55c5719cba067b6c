import { expect, test } from "vitest";
import { writeDocument } from "../../src/mounts/archive/exported-row.ts";
import { sampleMount } from "../settings/staged.ts";
import { ticksDuring } from "../ticks-during.ts";
import { driverByName } from "./site/desk.ts";

const names = { nameOf: (id: string) => id };

const mount = (at: number) =>
  sampleMount(`m${at}`, {
    driver: "S3",
    items: { bucket: "b", secret_access_key: `secret ${at}` },
  });

test("an export of many mounts leaves the event loop to other work", async () => {
  const mounts = Array.from({ length: 10_000 }, (_, at) => mount(at));
  const { ticks, result } = await ticksDuring(async () =>
    writeDocument(mounts, "", names, driverByName, () => false),
  );
  expect(result.storages).toHaveLength(10_000);
  expect(ticks).toBeGreaterThan(2);
});
