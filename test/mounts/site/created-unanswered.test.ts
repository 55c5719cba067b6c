import { expect, test } from "vitest";
import { driverByName, mount, openDesk } from "./desk.ts";
import { startStorages } from "./stand-in.ts";

test("a mount created by a call without an answer, deleted since: a read knows its row, so that the removal is announced", async () => {
  await using ends = new AsyncDisposableStack();
  const site = await startStorages(driverByName);
  ends.defer(() => site.stop());
  let isLost = true;
  const desk = await openDesk(site, {
    wrap: (client) => ({
      ...client,
      create: async (...args) => {
        await client.create(...args);
        if (isLost) throw new Error("the process ends before the answer");
      },
    }),
  });
  ends.defer(() => desk.close());
  desk.wanted = [mount()];
  await expect(desk.round()).rejects.toThrow("before the answer");
  expect(desk.state()).toMatchObject({ id: 0, phase: "create" });
  isLost = false;
  desk.wanted = [];
  const { states } = await desk.round({ aim: "read" });
  expect(states["films"]).toMatchObject({ id: site.row("/films")?.id, path: "/films" });
});
