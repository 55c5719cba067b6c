import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, type JsonObject, type Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { requirementOf } from "../../src/access/authenticate.ts";
import { Admission, createGrant, type Grant, ROOT, SCOPES } from "../../src/access/grant.ts";
import { createRoutes, servedServices } from "../../src/app/routes.ts";
import { type RunningServices, startServices } from "../../src/app/services.ts";
import { Call } from "../../src/gateway/call.ts";
import { createMethods, type Method } from "../../src/gateway/method.ts";
import { createTranslations } from "../../src/messages/language.ts";
import { createLocalize } from "../../src/messages/localize.ts";
import { CHEAP } from "../backup/text.ts";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { configOf, TOKEN, VERSION } from "../wire/service.ts";

/** Streams of one kind. */
const STREAMS = 25;

const LIMITED = createGrant(
  SCOPES.filter((scope) => /^(settings|mounts|drivers)/.test(scope)),
  ["mount:/team/*", "key:site_*"],
);

const site = startedForAll(startStandIn);
let folder: string;
const drivers = (): string => join(folder, "drivers");
let services: RunningServices;
let methods: ReadonlyMap<string, Method>;

/** A call without a transport. */
class LocalCall extends Call {
  readonly transport = "connect";
  readonly requestMethod = "POST";
  readonly url = "/";
  encode = (reply: Message): unknown => reply;
  header = (): undefined => undefined;
  protected headers = (): Headers => new Headers();
  protected address = (): string => "";
  protected onGone = (): void => {};
}

function callOf({ desc }: Method, grant: Grant): LocalCall {
  const call = new LocalCall(desc, "request");
  call.actor = "admin";
  call.principal = new Admission({ name: "admin", tokenId: "", grant }, TOKEN, 0);
  return call;
}

async function change(name: string, request: JsonObject): Promise<void> {
  const method = methods.get(name);
  if (method?.kind !== "unary") throw new Error(`${name} is not a unary rpc`);
  await method.invoke(create(method.desc.input, request), callOf(method, ROOT));
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mooring-watch-"));
  mkdirSync(drivers());
  const config = configOf(folder, { MOORING_DRIVERS_DIR: drivers() });
  const translations = createTranslations();
  const log = pino({ level: "silent" });
  services = await startServices(config, {
    log,
    commonLog: log,
    watchers: () => 0,
    localize: createLocalize(translations),
    draining: () => false,
    version: VERSION,
    passphraseCost: CHEAP,
    showToken: () => {},
    siteTimes: { beat: 30 },
    mountTimes: { beat: 30, look: 30, watch: 30 },
  });
  const all = createMethods(createRoutes(services, undefined, translations));
  methods = new Map(all.map((method) => [method.desc.name, method]));
  await change("CreateSite", { site: { name: "one", url: site.url, token: site.token() } });
  await change("SaveMounts", { mounts: [mount("before")] });
});

afterAll(async () => {
  services?.endStreams();
  await services?.close();
  await rm(folder, { recursive: true, force: true });
});

function mount(name: string): JsonObject {
  return {
    name,
    mountPath: `/team/${name}`,
    driver: "Local",
    config: { root_folder_path: "/" },
  };
}

const save = (title: string) => () =>
  change("SaveSettings", { settings: [{ key: "site_title", value: title }] });

/** A change that each stream shows. */
const changes: Readonly<Record<string, () => unknown>> = {
  WatchPublicSettings: save("public"),
  WatchSettings: save("settings"),
  WatchAudit: save("audit"),
  WatchMounts: () => change("SaveMounts", { mounts: [mount("after")] }),
  WatchSites: () =>
    change("UpdateSite", { name: "one", site: { exclude: { patterns: ["aria2_*"] } } }),
  WatchIncidents: () =>
    site.mounts.push({
      id: 77,
      mount_path: "/failing",
      driver: "Local",
      status: "failed: no such folder",
      disabled: false,
      addition: "{}",
    }),
  WatchDrivers: () =>
    writeFileSync(
      join(drivers(), "own.json"),
      JSON.stringify({ name: "Own", config: {}, additional: [{ use: "root_folder_path" }] }),
    ),
};

const watches = servedServices
  .flatMap((service) => service.methods)
  .filter(({ methodKind }) => methodKind === "server_streaming");

describe.each(watches.map((desc) => [desc.name, desc] as const))("streams of %s", (name, desc) => {
  const grants = requirementOf(desc).limited ? [ROOT, LIMITED] : [ROOT];

  test("share each message, so that it is built and encoded once", async () => {
    const method = methods.get(name);
    if (method?.kind !== "server_streaming") throw new Error(`${name} is not implemented`);
    const makeChange = changes[name];
    if (makeChange === undefined) throw new Error(`give ${name} a change that it shows`);
    const kinds = grants.map((grant) =>
      Array.from({ length: STREAMS }, () => {
        const call = callOf(method, grant);
        const stream = method.invoke(create(method.desc.input), call)[Symbol.asyncIterator]();
        onTestFinished(async () => {
          call.abort(new ConnectError("ended", Code.Canceled));
          await stream.return?.();
        });
        return stream;
      }),
    );
    const next = () =>
      Promise.all(
        kinds.map((streams) =>
          Promise.all(streams.map(async (stream) => (await stream.next()).value as Message)),
        ),
      );
    for (const messages of await next()) expect(new Set(messages).size).toBe(1);
    const pending = next();
    await makeChange();
    for (const messages of await pending) {
      expect(messages[0]).toBeDefined();
      // A state that changes again while it is read gives a second message.
      expect(new Set(messages).size).toBeLessThanOrEqual(3);
    }
  });
});
