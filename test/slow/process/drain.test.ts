import { once } from "node:events";
import { connect as connectHttp2, constants } from "node:http2";
import { connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { type MooringProcess, startedMooring, TOKEN } from "../../process/mooring.ts";
import { patientAria2 } from "../../process/patient-aria2.ts";
import { http1Sender } from "../../wire/transport/http.ts";

const CLIENTS = 12;
const PATH = "/api/admin/setting/save";
const BODY = JSON.stringify([{ key: "site_title", value: "kept alive" }]);
const REQUEST = requestFor(PATH, BODY);

function requestFor(path: string, body: string): string {
  return [
    `POST ${path} HTTP/1.1`,
    "Host: x",
    `Authorization: ${TOKEN}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "",
    body,
  ].join("\r\n");
}

/** Outcomes of the requests of all clients. */
interface Tally {
  answered: number;
  /** The connection was announced to close, or the request is known to be unexecuted. */
  announced: number;
  /** Failures without an announcement. */
  readonly lost: string[];
}

async function started(): Promise<MooringProcess> {
  return startedMooring({ env: { MOORING_ADMIN_TOKEN: TOKEN } });
}

/** Signals the service to end under load. */
async function stopWhenBusy(mooring: MooringProcess, tally: Tally): Promise<void> {
  const enough = tally.answered + 10 * CLIENTS;
  while (tally.answered < enough) await new Promise((resolve) => setTimeout(resolve, 5));
  mooring.kill("SIGTERM");
}

describe("SIGTERM under load", () => {
  test.each([
    [
      "loses no request of keep-alive clients on a connection that was not announced to close",
      10,
      saveOnHttp1,
    ],
    [
      "answers every stream of HTTP/2, or reports by GOAWAY that it was not executed",
      4,
      saveOnHttp2,
    ],
  ] as const)(
    "%s",
    async (_title, rounds, saveWith) => {
      const tally: Tally = { answered: 0, announced: 0, lost: [] };
      for (let round = 0; round < rounds; round += 1) {
        const mooring = await started();
        const clients = Array.from({ length: CLIENTS }, () => saveWith(mooring.port(), tally));
        await stopWhenBusy(mooring, tally);
        expect(await mooring.ended).toBe(0);
        await Promise.all(clients);
      }
      expect(tally.lost).toEqual([]);
      expect(tally.announced).toBeGreaterThan(0);
    },
    120_000,
  );

  test("announces the end of a connection also in the reply to an earlier call", async () => {
    const aria2 = await patientAria2();
    const mooring = await started();
    const socket = connect(mooring.port(), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    const body = JSON.stringify({ uri: aria2.uri, secret: "" });
    const reply = exchange(socket, requestFor("/api/admin/setting/set_aria2", body));
    await aria2.arrived(1);
    mooring.kill("SIGTERM");
    await mooring.logged(({ msg }) => msg === "stopping");
    aria2.answer();
    expect(await reply).toMatch(/^connection: close\r$/im);
    expect(await mooring.ended).toBe(0);
  });

  test("does not wait for connections without a request", async () => {
    const mooring = await startedMooring({ env: { MOORING_SHUTDOWN_GRACE: "1h" } });
    const socket = connect(mooring.port(), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    // Accepted by now: the next one has its reply.
    await http1Sender(mooring.port())("/ping");
    await mooring.stop();
  });
});

/** Saves repeatedly on one connection until it is announced to end; ends with the server. */
async function saveOnHttp1(port: number, tally: Tally): Promise<void> {
  for (;;) {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    let fresh = true;
    for (;;) {
      const reply = await exchange(socket, REQUEST);
      if (reply.startsWith("HTTP/1.1 200")) tally.answered += 1;
      // No request was sent on it yet: the connection itself was refused.
      else if (fresh) return;
      else {
        tally.lost.push(reply);
        return;
      }
      fresh = false;
      if (!/^connection: close\r$/im.test(reply)) continue;
      tally.announced += 1;
      break;
    }
    socket.destroy();
  }
}

/** Sends the request and reads one reply with its body; or returns the reason of a missing one. */
function exchange(socket: Socket, request: string): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const end = (outcome: string): void => {
      socket.off("data", onData).off("error", onError).off("close", onClose);
      resolve(outcome);
    };
    const onData = (chunk: Buffer): void => {
      text += chunk;
      const [head = "", body] = text.split("\r\n\r\n");
      const length = Number(/^content-length: (\d+)/im.exec(head)?.[1]);
      if (body !== undefined && Buffer.byteLength(body) >= length) end(text);
    };
    const onError = (error: Error): void => end(error.message);
    const onClose = (): void => end("closed");
    socket.on("data", onData).on("error", onError).on("close", onClose);
    socket.write(request);
  });
}

/** The same, several streams at a time. */
async function saveOnHttp2(port: number, tally: Tally): Promise<void> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  onTestFinished(() => void session.destroy());
  const gone = new Promise<void>((resolve) => void session.once("close", () => resolve()));
  session.on("error", () => undefined);
  let isGoingAway = false;
  session.on("goaway", (code) => {
    isGoingAway = code === constants.NGHTTP2_NO_ERROR;
    tally.announced += 1;
  });
  const asking = async (): Promise<void> => {
    while (!session.closed && !session.destroyed) await ask();
  };
  const ask = (): Promise<void> =>
    new Promise((resolve) => {
      const stream = session.request({
        ":method": "POST",
        ":path": PATH,
        authorization: TOKEN,
        "content-type": "application/json",
      });
      let status = 0;
      let ended = false;
      stream.on("response", (headers) => {
        status = Number(headers[":status"]);
      });
      stream.on("end", () => {
        ended = true;
      });
      stream.on("error", () => undefined);
      stream.on("close", () => {
        const { rstCode } = stream;
        if (status === 200 && ended) tally.answered += 1;
        else if (!(isGoingAway && rstCode === constants.NGHTTP2_REFUSED_STREAM))
          tally.lost.push(`status ${status}, reset ${rstCode}, goaway ${isGoingAway}`);
        resolve();
      });
      stream.resume();
      stream.end(BODY);
    });
  await Promise.all([asking(), asking(), gone]);
}
