import { expect, test } from "vitest";
import { startedForEach } from "../../started.ts";
import { driverByName, mount, openDesk, writes } from "./desk.ts";
import { startStorages } from "./stand-in.ts";

const site = startedForEach(() => startStorages(driverByName));
const desk = startedForEach(() => openDesk(site));

const dav = (password: string, revision: number) =>
  mount({
    driver: "WebDav",
    revision,
    items: { address: "https://dav.example", username: "ann", password },
  });

test("a secret of a caller who may not read it differs on a site until it was sent, right or wrong", async () => {
  desk.wanted = [dav("the password", 1)];
  await desk.round();
  expect(desk.state()).toMatchObject({ applied: 1, differs: [] });
  for (const guess of ["a wrong guess", "the password"]) {
    desk.wanted = [{ ...dav(guess, 2), blind: new Map([["password", 2]]) }];
    const { states } = await desk.round({ aim: "read" });
    expect(states["films"]).toMatchObject({ applied: 1, differs: ["password"] });
  }
  site.calls.length = 0;
  await desk.round();
  expect(writes(site)).toContain("update");
  expect(desk.state()).toMatchObject({ applied: 2, sent: 2, differs: [] });
  // It is compared again.
  site.calls.length = 0;
  await desk.round();
  expect(writes(site)).toEqual([]);
});
