import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { describe, expect, onTestFinished, test } from "vitest";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { openLine } from "./raw/line.ts";
import { startService, type TestService, TOKEN } from "./service.ts";

/** A database that can be put back to an earlier state while no service runs. */
export interface Restorable {
  start(): Promise<TestService>;
  /** Copies the database as it is. */
  copy(): Promise<void>;
  /** Puts the copy in place of the database. */
  putBack(): Promise<void>;
}

/** Identifiers that a client has from one line of revisions. */
interface Known {
  /** Entity tag of the list of settings. */
  readonly tag: string;
  /** Etag of the same reply in the contract. */
  readonly etag: string;
  readonly revision: bigint;
  /** Last id of an event stream. */
  readonly eventId: string;
  /** Token of the second page of the history. */
  readonly pageToken: string;
}

const LIST = "/api/admin/setting/list";
const WATCH = "/api/admin/setting/watch";

class Client {
  readonly #port: number;
  readonly #session: Http2SessionManager;
  readonly settings;

  constructor(port: number) {
    const baseUrl = `http://127.0.0.1:${port}`;
    this.#port = port;
    this.#session = new Http2SessionManager(baseUrl);
    const transport = createGrpcTransport({
      baseUrl,
      sessionManager: this.#session,
      interceptors: [
        (next) => (request) => {
          request.header.set("authorization", TOKEN);
          return next(request);
        },
      ],
    });
    this.settings = createClient(SettingService, transport);
  }

  close(): void {
    this.#session.abort();
  }

  save(value: string) {
    return this.settings.saveSettings({ settings: [{ key: "site_title", value }] });
  }

  rest(path: string, headers: Record<string, string> = {}, body?: unknown): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.#port}${path}`, {
      headers: { authorization: TOKEN, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
  }

  async envelope(path: string, headers: Record<string, string>, body?: unknown) {
    return (await (await this.rest(path, headers, body)).json()) as { readonly code: number };
  }

  /** Head and first event of a stream of events. */
  async firstEvent(query = "", headers: Record<string, string> = {}): Promise<string> {
    const line = await openLine(this.#port);
    const all = {
      Host: "localhost",
      Authorization: TOKEN,
      Accept: "text/event-stream",
      ...headers,
    };
    const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    line.socket.write(`GET ${WATCH}${query} HTTP/1.1\r\n${head.join("")}\r\n`);
    try {
      const bytes = await line.until(
        (received) => received.includes("data: ") || received.includes('"code"'),
      );
      return bytes.toString();
    } finally {
      line.socket.destroy();
    }
  }

  /** First event of a stream over gRPC. */
  async firstOf(request: Parameters<typeof this.settings.watchSettings>[0]) {
    const ending = new AbortController();
    for await (const event of this.settings.watchSettings(request, { signal: ending.signal })) {
      ending.abort();
      return event;
    }
    throw new Error("the stream has no event");
  }

  async known(): Promise<Known> {
    const { headers } = await this.rest(LIST);
    const { etag, revision } = await this.settings.listSettings({ groups: [1] });
    const { nextPageToken } = await this.settings.listRevisions({ pageSize: 1 });
    const [, eventId = ""] = /^id: (.*)$/m.exec(await this.firstEvent()) ?? [];
    return { tag: headers.get("etag") ?? "", etag, revision, eventId, pageToken: nextPageToken };
  }
}

const codeOf = async (call: Promise<unknown>) =>
  call.then(
    () => 0,
    (error: unknown) => ConnectError.from(error).code,
  );

/**
 * The behaviour of ids and conditions after a restore; the same for every dialect.
 *
 * @param opened opens the database, and defers its removal to the stack.
 * @param options.isPromotion a standby without the last commits takes over.
 * @param options.isOtherCopy only what the way of the copy decides.
 */
export function describeRestored(
  opened: (ending: AsyncDisposableStack) => Promise<Restorable>,
  { isPromotion = false, isOtherCopy = false } = {},
): void {
  const started = async (database: Restorable, ending: AsyncDisposableStack) => {
    const service = await database.start();
    const client = new Client(service.port);
    let isOpen = true;
    const end = async (): Promise<void> => {
      if (!isOpen) return;
      isOpen = false;
      client.close();
      await service.stop();
    };
    ending.defer(end);
    return { client, end };
  };

  /** Clients know a state that was lost; the database has other commits with the same numbers. */
  const lose = async (commits: number) => {
    const ending = new AsyncDisposableStack();
    const database = await opened(ending);
    const first = await started(database, ending);
    await first.client.save("before the copy");
    const before = await first.client.known();
    await first.end();
    await database.copy();
    const second = await started(database, ending);
    await second.client.save("lost 1");
    await second.client.save("lost 2");
    const known = await second.client.known();
    await second.end();
    await database.putBack();
    const { client } = await started(database, ending);
    for (let count = 1; count <= commits; count += 1) await client.save(`other ${count}`);
    return { client, known, before, stop: () => ending.disposeAsync() };
  };

  const counts: [string, number][] = [
    ["as many", 2],
    ["fewer", 1],
    ["more", 3],
  ];
  const tried = isOtherCopy ? counts.slice(0, 1) : counts;
  describe.each(tried)("after a restore and %s commits than were lost", (_, commits) => {
    // The tests only read: their changes are refused.
    const lost = startedForAll(() => lose(commits));

    test("no id of the lost line passes as one of this line", async () => {
      const { client, known } = lost;
      const list = await client.rest(LIST, { "if-none-match": known.tag });
      expect(list.status).toBe(200);
      expect(list.headers.get("etag")).not.toBe(known.tag);
      const body = [{ key: "site_title", value: "refused" }];
      const saves = {
        "/api/admin/setting/save": body,
        "/api/admin/setting/rollback": { to: "1" },
        "/api/admin/setting/delete?key=site_title": {},
      };
      for (const [path, sent] of Object.entries(saves)) {
        const { code } = await client.envelope(path, { "if-match": known.tag }, sent);
        expect([path, code]).toEqual([path, 412]);
      }
      const { settings } = client;
      const expectedEtag = known.etag;
      expect(await codeOf(settings.saveSettings({ settings: body, expectedEtag }))).toBe(
        Code.Aborted,
      );
      expect(await codeOf(settings.rollback({ to: 1n, expectedEtag }))).toBe(Code.Aborted);
      expect(
        await codeOf(
          settings.listSettings({}, { headers: { "mooring-at-least-revision": known.etag } }),
        ),
      ).not.toBe(0);
      expect(await codeOf(settings.listRevisions({ pageToken: known.pageToken }))).toBe(
        Code.InvalidArgument,
      );
      expect((await settings.getSetting({ key: "site_title" })).setting?.value).toBe(
        `other ${commits}`,
      );
    });

    test("a stream from a lost state begins with a snapshot and status 200", async () => {
      const { client, known } = lost;
      const snapshot = expect.stringMatching(/^HTTP\/1\.1 200 [\s\S]*data: \{[^\n]*"snapshot":/);
      expect(await client.firstEvent("", { "Last-Event-ID": known.eventId })).toEqual(snapshot);
      expect(await client.firstEvent(`?after_etag=${known.etag}`)).toEqual(snapshot);
      expect((await client.firstOf({ afterEtag: known.etag })).event.case).toBe("snapshot");
    });

    test("a stream from a state before the copy resumes without a snapshot", async () => {
      const { client, before } = lost;
      const first = await client.firstOf({ afterEtag: before.etag });
      expect(first.event.case).toBe("change");
      expect(first.revision).toBe(before.revision + 1n);
      const event = await client.firstEvent("", { "Last-Event-ID": before.eventId });
      // The ids of events have the timeline of PostgreSQL, which a promotion changes.
      expect(event).toMatch(isPromotion ? /"snapshot":/ : /data: \{[^\n]*"change":/);
    });
  });

  if (isPromotion || isOtherCopy) return;

  test("after an ordinary restart, every id still holds", async () => {
    const ending = endingOfTest();
    const database = await opened(ending);
    const first = await started(database, ending);
    await first.client.save("one");
    await first.client.save("two");
    const known = await first.client.known();
    await first.end();
    const { client } = await started(database, ending);
    expect(await client.known()).toEqual(known);
    expect((await client.rest(LIST, { "if-none-match": known.tag })).status).toBe(304);
    expect(
      await codeOf(
        client.settings.listSettings({}, { headers: { "mooring-at-least-revision": known.etag } }),
      ),
    ).toBe(0);
    expect(await codeOf(client.settings.listRevisions({ pageToken: known.pageToken }))).toBe(0);
    const sent = [{ key: "site_title", value: "three" }];
    expect(
      await client.envelope("/api/admin/setting/save", { "if-match": known.tag }, sent),
    ).toMatchObject({ code: 200 });
    expect((await client.firstOf({ afterEtag: known.etag })).event).toMatchObject({
      case: "change",
      value: { changes: [{ newValue: "three" }] },
    });
    // A state of this line that is no longer the newest is a conflict, as before.
    expect(
      await client.envelope("/api/admin/setting/save", { "if-match": known.tag }, sent),
    ).toMatchObject({ code: 409 });
  });

  test("two services on one database give the same ids, and resume each other's streams", async () => {
    const ending = endingOfTest();
    const database = await opened(ending);
    const [a, b] = [await started(database, ending), await started(database, ending)];
    await a.client.save("by a");
    const known = await a.client.known();
    await expect.poll(() => b.client.known()).toEqual(known);
    await b.client.save("by b");
    const c = await started(database, ending);
    for (const { client } of [a, b, c])
      expect((await client.firstOf({ afterEtag: known.etag })).event).toMatchObject({
        case: "change",
        value: { changes: [{ newValue: "by b" }] },
      });
  });
}

/** Disposed of at the end of the test. */
function endingOfTest(): AsyncDisposableStack {
  const ending = new AsyncDisposableStack();
  onTestFinished(() => ending.disposeAsync());
  return ending;
}

/** Starts a service with these variables. */
export function serviceWith(
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Promise<TestService> {
  return startService({ folder, env });
}
