import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { startService } from "./service.ts";

const service = startedForAll(() => startService({ env: { MOORING_MAX_SETTINGS: "1MiB" } }));
const FULL = {
  code: Code.ResourceExhausted,
  rawMessage: expect.stringMatching(/share of this token/),
};

/** Saves mounts of 60 kB until one is refused. @returns their number. */
async function fill(token: string, folder: string): Promise<number> {
  const { mounts } = as(service.port, token);
  const save = (name: string) =>
    mounts.saveMounts({
      mounts: [
        {
          name,
          mountPath: `/${folder}/${name}`,
          driver: "Local",
          config: { root_folder_path: "/" },
          members: { remark: "v".repeat(60_000) },
        },
      ],
    });
  for (let count = 0; count < 100; count += 1) {
    const refused = await save(`${folder.replace("/", "-")}-${count}`).then(
      () => undefined,
      (error) => error,
    );
    if (refused === undefined) continue;
    expect(refused).toMatchObject(FULL);
    expect(refused.rawMessage).not.toMatch(/\d{4}/);
    return count;
  }
  throw new Error("the space has no bound");
}

test("tokens leave space: those with limits for others, those without for root", async () => {
  const root = as(service.port);
  const limited = (await give(root, ["mounts:write"], ["mount:/team/*"], "team")).text;
  const whole = (await give(root, ["mounts:write", "settings:write"], [], "whole")).text;
  expect(await fill(limited, "team")).toBeGreaterThan(10);
  const note = (token: string, value: string) =>
    as(service.port, token).settings.saveSettings({
      settings: [{ key: "customize_body", value: value.repeat(2_000) }],
    });
  await note(whole, "a");
  // A token may still change what takes no more space, and delete.
  const { mounts } = as(service.port, limited);
  await mounts.saveMounts({ mounts: [{ name: "team-0", disabled: true }] });
  expect(await fill(whole, "whole")).toBeGreaterThan(1);
  await expect(fill(limited, "team/more")).resolves.toBe(0);
  await root.settings.saveSettings({
    settings: [{ key: "customize_body", value: "b".repeat(30_000) }],
  });
  await mounts.deleteMounts({ names: ["team-1"] });
});
