import type { DescMethodUnary, JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterEach, describe, expect, test } from "vitest";
import { SiteService } from "../../gen/mooring/v1/site_service_pb.js";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll, startedForEach } from "../started.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService } from "./service.ts";
import { invoke, read } from "./transport/transport.ts";

const {
  adoptSite,
  checkSite,
  compareSite,
  createSite,
  deleteSite,
  listSiteLog,
  listSites,
  syncSite,
} = SiteService.method;

const service = startedForAll(() =>
  startService({ siteTimes: { tick: 50, read: 100, reread: 100 } }),
);
const site = startedForEach(startStandIn);

const row = (key: unknown, value: unknown, more: object = {}) => ({
  key,
  value,
  type: "string",
  options: "",
  help: "",
  group: 1,
  flag: 0,
  index: 0,
  ...more,
});
const listOf = (...rows: unknown[]) =>
  JSON.stringify({ code: 200, message: "success", data: rows });
const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

/** A GET transport has none of the calls that reach a site. */
const posting = sharedPortTransports.filter(({ name }) => name !== "Connect GET");

/** Replies that are a failure. They are read behind all transports. */
const failing = [
  ["a message that is not text", '{"code":500,"message":{"toString":1}}'],
  ["a message of a hundred thousand levels", `{"code":500,"message":${deep(100_000)}}`],
  ["a message with control characters", '{"code":500,"message":"no\\u0000 \\u001b[2J\\ud800"}'],
  ["a list of a hundred thousand levels", `{"code":200,"data":${deep(100_000)}}`],
  ["a list of other things", '{"code":200,"data":[null,1,"x",[],{"key":1}]}'],
  ["a number in place of the envelope", "7"],
  ["nothing in place of the envelope", "null"],
  ["invalid codes", '{"code":1e999,"message":null,"data":{}}'],
] as const;

describe.each(posting)("a hostile site, over $name", ({ name, open }) => {
  const isUsual = name === "REST" || name === "gRPC";
  const transport = startedForAll(() => open(service));
  const answered = async (method: DescMethodUnary, request: JsonObject = {}): Promise<string> =>
    JSON.stringify(await read(transport, method, request));
  afterEach(() => answered(deleteSite, { name: "one" }));
  const add = () =>
    answered(createSite, { site: { name: "one", url: site.url, token: site.token() } });

  test("rows with unusual texts, numbers and members break no reply", async () => {
    await add();
    site.mode = {
      kind: "reply",
      body: listOf(
        row("version", `v4.2.5${"\ud83d\ude00".repeat(150)}`),
        row("site_title", "half of a pair \ud800"),
        row("announcement", "a\0b\u001b[2J"),
        row("\udfff", "\ud800"),
        row("a\0key", "x", { help: "\0", options: "\0" }),
        row("constructor", "x"),
        row("large", "x", { group: 1e300, flag: -1e300 }),
        row("ahead", "x", { expectedEtag: "5", seenEtag: "1", etag: "7", revision: 7 }),
      ).replace("{", '{"__proto__":1,'),
    };
    await answered(compareSite, { name: "one", all: true });
    await answered(adoptSite, { name: "one", dryRun: true });
    await answered(adoptSite, { name: "one" });
    await answered(checkSite, { name: "one" });
    await answered(listSites);
    await answered(listSiteLog, { name: "one" });
  });

  test.each(isUsual ? failing : failing.slice(0, 1))(
    "%s is a failure that is reported and stored",
    async (_what, body) => {
      await add();
      site.mode = { kind: "reply", body };
      const failed = await invoke(transport, checkSite, { name: "one" });
      expect(failed).toMatchObject({
        kind: "failure",
        code: transport.codeOf(Code.FailedPrecondition),
        // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal would act on.
        message: expect.not.stringMatching(/[\u0000-\u001f\ud800]/),
      });
      expect(await answered(listSites)).toContain('"failing"');
    },
  );

  if (isUsual)
    test("a member of fifty thousand levels is sent back unchanged", async () => {
      await add();
      const deepRow = listOf(row("site_title", "x", { deepRow: "DEEP" })).replace(
        '"DEEP"',
        deep(50_000),
      );
      site.mode = { kind: "reply", body: deepRow };
      expect(await answered(syncSite, { name: "one" })).toContain("refused");
      await answered(listSites);
    });
});
