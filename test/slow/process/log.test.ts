import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { runMooring, startedMooring, TOKEN, testFolder } from "../../process/mooring.ts";
import { grpcTransport } from "../../wire/transport/grpc.ts";
import { http1Sender } from "../../wire/transport/http.ts";

const headers = { authorization: TOKEN };
const env = { MOORING_ADMIN_TOKEN: TOKEN };

describe("the log", () => {
  test("is JSON lines with a time, and one line for each failed call with the reply's id", async () => {
    const mooring = await startedMooring({ env });
    const send = http1Sender(mooring.port());
    const ids: unknown[] = [];
    const unsuccessful = [
      ["/api/admin/setting/get?key=nope", { headers }],
      ["/api/admin/setting/list", {}],
      ["/api/admin/setting/list?group=x", { headers }],
      ["/api/admin/setting/save", { method: "POST", body: "[{", headers }],
      ["/api/admin/setting/delete?key=version", { method: "POST", headers }],
    ] as const;
    for (const [path, request] of unsuccessful)
      ids.push((await send(path, request)).headers["x-request-id"]);
    const transport = grpcTransport("gRPC", mooring.port());
    const { getSetting } = SettingService.method;
    const outcome = await transport.call(getSetting, create(getSetting.input, { key: "nope" }), {
      headers,
    });
    ids.push(outcome.requestId);
    transport.close();
    await mooring.stop();
    for (const line of mooring.stdout().trimEnd().split("\n"))
      expect(JSON.parse(line), line).toMatchObject({
        level: expect.any(Number),
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        msg: expect.any(String),
      });
    for (const requestId of ids) {
      const lines = mooring.log().filter(({ requestId: id }) => id === requestId);
      expect(lines, String(requestId)).toMatchObject([
        { reason: expect.any(String), code: expect.any(String), method: expect.any(String) },
      ]);
    }
  });

  test("has no line for a successful call at the default level", async () => {
    const quiet = await startedMooring({ env });
    await http1Sender(quiet.port())("/api/admin/setting/list", { headers });
    await quiet.stop();
    expect(quiet.log().filter((line) => "requestId" in line)).toEqual([]);

    const chatty = await startedMooring({ env: { ...env, MOORING_LOG_LEVEL: "debug" } });
    const reply = await http1Sender(chatty.port())("/api/admin/setting/list", { headers });
    await chatty.stop();
    expect(chatty.log()).toContainEqual(
      expect.objectContaining({ requestId: reply.headers["x-request-id"], transport: "rest" }),
    );
  });

  test("never has a token, secret or password, on any level", async () => {
    const mooring = await startedMooring({ env: { ...env, MOORING_LOG_LEVEL: "trace" } });
    const send = http1Sender(mooring.port());
    const post = (path: string, body: unknown) =>
      send(`/api/admin/setting/${path}`, { method: "POST", body, headers });
    await post("save", [{ key: "aria2_secret", value: "Secret-saved" }]);
    await post("save", [{ key: "token", value: "Secret-short" }]);
    await post("save", [{ key: "custom", value: ["Secret-typed"] }]);
    await post("set_aria2", { uri: "http://127.0.0.1:9/?Secret-query", secret: "Secret-rpc" });
    await post("set_qbit", { url: "http://u:Secret-login@127.0.0.1:9/", seedtime: "1" });
    await post("set_qbit", { url: "http://u:Secret-login@", seedtime: "1" });
    await send("/api/admin/setting/list?token=Secret-parameter", {
      headers: { authorization: "Secret-wrong" },
    });
    await send("/api/admin/setting/Secret-path", { headers });
    const { json } = await post("reset_token", undefined);
    const { data: token } = json as { data: string };
    await mooring.stop();
    expect(mooring.stdout()).not.toMatch(/Secret-/);
    for (const secret of [TOKEN, token]) {
      expect(mooring.stdout()).not.toContain(secret);
      expect(mooring.stderr()).not.toContain(secret);
    }
  });

  test("has no control characters, for any input of a client", async () => {
    const mooring = await startedMooring({ env });
    const control = "\u0007\u007f\u009b2J";
    const path = `/api/admin/setting/get?key=${encodeURIComponent(control)}`;
    await http1Sender(mooring.port())(path, { headers });
    await mooring.stop();
    const lines = mooring.stdout().split("\n");
    for (const line of lines)
      for (const char of line) expect(isControl(char), JSON.stringify(line)).toBe(false);
    const reasons = mooring.log().map(({ reason }) => String(reason));
    expect(reasons.filter((reason) => reason.includes(control))).toHaveLength(1);
  });

  test("has one line for a client with many wrong tokens", async () => {
    const mooring = await startedMooring({ env });
    const send = http1Sender(mooring.port());
    const list = "/api/admin/setting/list";
    for (let call = 0; call < 50; call += 1)
      await send(list, { headers: { authorization: `wrong-${call}` } });
    // Each failure of a client with the token has a line.
    for (let call = 0; call < 3; call += 1) await send(`${list}?group=x`, { headers });
    await mooring.stop();
    const codes = mooring.log().flatMap(({ code }) => code ?? []);
    expect(codes).toEqual([
      "Unauthenticated",
      "ResourceExhausted",
      ...Array(3).fill("InvalidArgument"),
    ]);
  });

  test("of several workers has the worker in each line, and shared events once", async () => {
    const folder = await testFolder();
    const file = join(folder, "settings.yaml");
    await writeFile(file, "settings:\n  site_title: one\n");
    const mooring = await startedMooring({
      folder,
      env: { ...env, MOORING_WORKERS: "2", MOORING_SETTINGS_FILE: file },
    });
    const linesOf = (msg: string) => mooring.log().filter((line) => line["msg"] === msg);
    await mooring.logged(() => linesOf("serving").length === 2);
    await mooring.stop();
    const [first, second] = linesOf("serving").map(({ worker }) => worker);
    expect(linesOf("settings file applied")).toMatchObject([{ worker: first }]);
    expect(linesOf("stopped").map(({ worker }) => worker)).toEqual(
      expect.arrayContaining([first, second]),
    );
    expect(first).not.toBe(second);
  });

  test("with a closed reader does not stop the service, which ends in order", async () => {
    const mooring = await startedMooring({ env });
    mooring.leaveOutput("gone");
    expect((await http1Sender(mooring.port())("/ping", {})).status).toBe(200);
    await mooring.stop();
  });

  test("with a stalled reader does not stop the service, which ends on its signal", async () => {
    const mooring = await startedMooring({ env: { ...env, MOORING_LOG_LEVEL: "debug" } });
    const port = mooring.port();
    mooring.leaveOutput("stalled");
    const send = http1Sender(port);
    // More than the buffer of a pipe, 64 KiB: a line has over 150 bytes.
    for (let call = 0; call < 1_000; call += 1) await send("/ping", {});
    mooring.kill("SIGTERM");
    expect(["SIGKILL", 0]).toContain(await mooring.ended);
  });

  test("is text for people on request", async () => {
    const mooring = runMooring({ env: { ...env, MOORING_LOG_FORMAT: "pretty" } });
    await expect.poll(mooring.stdout).toContain("serving");
    expect(mooring.stdout()).not.toMatch(/^\{/m);
    expect(mooring.stdout()).not.toContain(TOKEN);
  });
});

/** C0, DEL and C1: characters that a terminal may interpret as a command. */
function isControl(char: string): boolean {
  const code = char.charCodeAt(0);
  return code < 0x20 || (code >= 0x7f && code <= 0x9f);
}
