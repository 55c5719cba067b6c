import { create, type Message } from "@bufbuild/protobuf";
import { type ServerWritableStream, status } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import {
  type WatchSettingsRequest,
  WatchSettingsResponseSchema,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForEach } from "../started.ts";
import { failure, startFake } from "./fake-service.ts";
import { startService } from "./service.ts";
import { startWatching } from "./watching.ts";

const watch = (args: readonly string[], env: Record<string, string>) =>
  startWatching(["watch", ...args], env);

describe("with a real service", () => {
  const service = startedForEach(() => startService());

  test("prints each change with its revision and actor, and ends with 0 on Ctrl-C", async () => {
    const watching = watch([], service.env);
    await watching.until("settings");
    await service.cli(["set", "site_title=One", "announcement=Two"]);
    await watching.until("site_title: OpenList → One");
    const { code, out, err } = await watching.interrupt();
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/^revision 1: \d+ settings\nrevision 2: [-0-9: ]+ by admin\n {2}/);
    expect(out).toContain("→ Two");
  });

  test("prints only the given keys, beginning with their values", async () => {
    const watching = watch(["site_title"], service.env);
    await watching.until("  site_title: OpenList");
    await service.cli(["set", "announcement=not asked for"]);
    await service.cli(["set", "site_title=asked for"]);
    await watching.until("asked for");
    const { out } = await watching.interrupt();
    expect(out).not.toContain("not asked for");
  });

  test("prints one line of JSON per event", async () => {
    const watching = watch(["--json", "--after", "1"], service.env);
    await service.cli(["set", "site_title=One"]);
    await watching.until('"One"');
    const { out } = await watching.interrupt();
    const events = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events.find(({ change }) => change !== undefined)).toMatchObject({
      revision: "2",
      change: { actor: "admin", changes: [{ key: "site_title", new_value: "One" }] },
    });
  });

  test("continues after a restart of the service without missing events", async () => {
    const watching = watch(["--json"], service.env);
    await watching.until("snapshot");
    await service.cli(["set", "site_title=Before"]);
    await watching.until("Before");
    await service.stop();
    await watching.until("trying again");
    const offline = { env: { MOORING_ADDRESS: "", MOORING_TOKEN: "" } };
    await service.cli(["set", "site_title=Meanwhile", "--database", "mooring.db"], offline);
    await service.start();
    await watching.until("Meanwhile");
    await service.cli(["set", "site_title=After"]);
    await watching.until("After");
    const { code, out } = await watching.interrupt();
    expect(code).toBe(0);
    const events = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events.filter(({ snapshot }) => snapshot !== undefined)).toHaveLength(1);
    const revisions = events.filter(({ change }) => change).map(({ revision }) => Number(revision));
    const first = revisions[0] ?? 0;
    expect(revisions).toEqual(revisions.map((_, at) => first + at));
  });

  test("ends with 5 when its token is replaced and the connection breaks", async () => {
    const watching = watch([], service.env);
    await watching.until("settings");
    await service.cli(["token", "reset", "--yes"]);
    await service.stop();
    await service.start();
    expect((await watching.running).code).toBe(5);
  });
});

describe("with a fake service, for rare failures", () => {
  const event = (revision: bigint): Message =>
    create(WatchSettingsResponseSchema, { revision, etag: `${revision}.0123456789abcdef` });
  const afterOf = (call: ServerWritableStream<Message, Message>): string | undefined =>
    (call.request as WatchSettingsRequest).afterEtag;

  test("ends with 6 when it never connects", async () => {
    const fake = await startFake({});
    fake.stop();
    expect((await watch([], fake.env).running).code).toBe(6);
  });

  test("begins with all values when its revision is not kept any more", async () => {
    const afters: (string | undefined)[] = [];
    const fake = await startFake({
      watchSettings: (call) => {
        afters.push(afterOf(call));
        if (afters.length === 1) call.write(event(5n));
        if (afters.length === 3) call.write(event(90n));
        else if (afters.length === 1) call.emit("error", failure(status.UNAVAILABLE, "stops"));
        else call.emit("error", failure(status.OUT_OF_RANGE, "the oldest is 50"));
      },
    });
    const watching = watch(["--json"], fake.env);
    await watching.until('"90"');
    const { err } = await watching.interrupt();
    fake.stop();
    expect(afters).toEqual([undefined, "5.0123456789abcdef", undefined]);
    expect(err).toContain("the oldest is 50; beginning again with all settings");
  });

  test("ends with 3 when changes after --after are not kept", async () => {
    const fake = await startFake({
      watchSettings: (call) => {
        call.emit("error", failure(status.OUT_OF_RANGE, "the oldest is 50"));
      },
    });
    const { code, err } = await watch(["--after", "3.0123456789abcdef"], fake.env).running;
    fake.stop();
    expect(code).toBe(3);
    expect(err).toContain("the oldest is 50");
  });
});
