import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { DriverInfo } from "../../../src/drivers/driver-info.ts";
import { type Family, HIDDEN, type Live, OWN, type Row, rowOf, zeroOf } from "./stand-in-row.ts";

/** Behavior of a provider at a driver's start: resolves, or rejects with the driver's error. */
export type Provider = (live: Live) => Promise<void> | void;

export interface Storages {
  readonly url: string;
  /** Answers a request that another server has received. */
  readonly serve: (request: IncomingMessage, response: ServerResponse) => void;
  readonly token: string;
  /** The server's database, kept over restarts. */
  readonly rows: Map<number, Row>;
  /** The mounts in memory, by path. */
  readonly live: Map<string, Live>;
  /** By driver; tests may replace them. Default: starts at once. */
  readonly providers: Map<string, Provider>;
  /** Content of folders, by path: names (folders end with `/`), or the driver's error. Default: empty. */
  readonly folders: Map<string, string | readonly string[]>;
  /** Makes the stop of a driver fail, by driver. */
  readonly dropFails: Set<string>;
  /** Requests by path, such as `POST /api/admin/storage/update`, in order, with their bodies. */
  readonly calls: { readonly call: string; readonly query: string; readonly body: unknown }[];
  /** Called before and after each call's work: to stop the server, or its client, in between. */
  hold: ((stage: string) => unknown) | undefined;
  /** Starts of mounts, by path: each may be a login at the provider. */
  readonly mounts: Map<string, number>;
  /** Stores a driver's state, such as a refreshed token. */
  writeBack(path: string, changes: Record<string, unknown>): void;
  /** An edit by a user on the server's own page. */
  edit(path: string, changes: Partial<Row>): void;
  addition(path: string): Record<string, unknown>;
  row(path: string): Row | undefined;
  count(call: string): number;
  stop(): Promise<void>;
  /** Starts it again at the same port; enabled rows are mounted. */
  start(): Promise<void>;
  restart(): Promise<void>;
}

const ok = (data: unknown = null) => ({ code: 200, message: "success", data });
const no = (message: string, code = 500) => ({ code, message, data: null });

/** A server with the mount API of OpenList and AList, without files. */
export async function startStorages(
  driverOf: (name: string) => DriverInfo | undefined,
  family: Family = "openlist",
): Promise<Storages> {
  const rows = new Map<number, Row>();
  let live = new Map<string, Live>();
  const token = "openlist-stand-in-token";
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let port = 0;
  let lastId = 0;

  /** Like Go's decoding of an addition into the driver's members: a wrong type ends it there. */
  const read = (text: string, into: Record<string, unknown>, driver: DriverInfo): string => {
    let input: Record<string, unknown>;
    try {
      input = JSON.parse(text) as Record<string, unknown>;
    } catch {
      return "unexpected end of JSON input";
    }
    for (const item of driver.additional) {
      const value = input[item.name];
      if (value === undefined) continue;
      const zero = zeroOf(item.type);
      if (value === null) into[item.name] = zero;
      else if (typeof value !== typeof zero) return `readObject: wrong type of ${item.name}`;
      else into[item.name] = value;
    }
    for (const name of HIDDEN[driver.config.name] ?? [])
      if (input[name] !== undefined) into[name] = input[name];
    return "";
  };
  /** A driver saves its whole row by its id, at any path. */
  const save = (one: Live): void => {
    one.row.addition = JSON.stringify(one.addition);
    rows.set(one.row.id, { ...one.row });
  };
  const init = async (row: Row, one: Live): Promise<string> => {
    one.row = { ...row };
    const driver = driverOf(row.driver);
    if (driver === undefined) return "unknown driver";
    site.mounts.set(row.mount_path, (site.mounts.get(row.mount_path) ?? 0) + 1);
    let error = read(row.addition, one.addition, driver);
    if (error === "")
      try {
        OWN[row.driver]?.(one);
        await site.providers.get(row.driver)?.(one);
      } catch (failure) {
        error = failure instanceof Error ? failure.message : String(failure);
      }
    // A server killed in between stores nothing.
    if (liveOf.get(one) !== live) return "killed";
    live.set(one.row.mount_path, one);
    one.row.status = error === "" ? "work" : error;
    save(one);
    return error === "" ? "" : `failed init storage: ${error}`;
  };
  const liveOf = new WeakMap<Live, Map<string, Live>>();
  const fresh = (row: Row): Live => {
    const addition: Record<string, unknown> = {};
    for (const item of driverOf(row.driver)?.additional ?? [])
      addition[item.name] = zeroOf(item.type);
    const one = { row, addition };
    liveOf.set(one, live);
    return one;
  };
  const drop = (one: Live): string =>
    site.dropFails.has(one.row.driver) ? "failed drop storage: the driver can't be stopped" : "";
  const firstOr = (id: number): Row | undefined => rows.get(id === 0 ? (ids()[0] ?? 0) : id);
  const ids = (): number[] => [...rows.keys()].sort((a, b) => a - b);
  const isTaken = (path: string, id: number): boolean =>
    [...rows.values()].some((row) => row.mount_path === path && row.id !== id);

  const create = async (body: Record<string, unknown>) => {
    const row = rowOf(body, family);
    if (driverOf(row.driver) === undefined)
      return no(`failed get driver new: no driver named: ${row.driver}`);
    if (isTaken(row.mount_path, 0)) return no(UNIQUE);
    if (family !== "alist-3.25" || rows.size > 0) lastId = Math.max(lastId, ...ids());
    else lastId = 0;
    row.id = row.id > 0 && !rows.has(row.id) ? row.id : lastId + 1;
    lastId = row.id;
    if (family === "alist") row.down_proxy_sign = true;
    rows.set(row.id, row);
    await site.hold?.("stored");
    const error = await init(row, fresh(row));
    return error === ""
      ? ok({ id: row.id })
      : {
          ...no(`failed init storage but storage is already created: ${error}`),
          data: { id: row.id },
        };
  };
  const update = async (body: Record<string, unknown>) => {
    const input = rowOf(body, family);
    const old = firstOr(input.id);
    if (old === undefined) return no("failed get old storage: record not found");
    if (old.driver !== input.driver) return no("driver cannot be changed");
    if (input.id === 0) {
      // Without an id the saved row is a new one; the first mount is stopped.
      lastId += 1;
      rows.set(lastId, { ...input, id: lastId, mount_path: `${input.mount_path} ` });
      live.delete(old.mount_path);
      return ok();
    }
    if (isTaken(input.mount_path, input.id)) return no(UNIQUE);
    rows.set(input.id, { ...input });
    await site.hold?.("stored");
    if (input.disabled) return ok();
    const one = live.get(old.mount_path);
    if (old.mount_path !== input.mount_path) live.delete(old.mount_path);
    if (one === undefined)
      return no(`failed get storage driver: no mount path for an storage is: ${old.mount_path}`);
    const dropped = drop(one);
    if (dropped !== "") return no(dropped);
    const error = await init(input, one);
    return error === "" ? ok() : no(error);
  };
  const enable = async (id: number) => {
    const row = firstOr(id);
    if (row === undefined) return no("failed get storage: record not found");
    if (!row.disabled) return no("this storage have enabled");
    row.disabled = false;
    await site.hold?.("stored");
    const error = await init({ ...row }, fresh(row));
    return error === "" ? ok() : no(`failed load storage: ${error}`);
  };
  const disable = async (id: number) => {
    const row = firstOr(id);
    if (row === undefined) return no("failed get storage: record not found");
    if (row.disabled) return no("this storage have disabled");
    const one = live.get(row.mount_path);
    if (one === undefined)
      return no(`failed get storage driver: no mount path for an storage is: ${row.mount_path}`);
    const dropped = drop(one);
    if (dropped !== "") return no(dropped);
    // Read again: a driver may store its row while it is stopped.
    Object.assign(rows.get(row.id) ?? row, { disabled: true, status: "disabled" });
    await site.hold?.("stored");
    live.delete(row.mount_path);
    return ok();
  };
  const remove = async (id: number) => {
    const row = firstOr(id);
    if (row === undefined) return no("failed get storage: record not found");
    let dropped = "";
    if (!row.disabled) {
      const one = live.get(row.mount_path);
      if (one === undefined)
        return no(`failed get storage driver: no mount path for an storage is: ${row.mount_path}`);
      dropped = drop(one);
      if (dropped !== "" && family !== "openlist") return no(dropped);
      live.delete(row.mount_path);
    }
    if (id !== 0) rows.delete(row.id);
    await site.hold?.("stored");
    return dropped === "" ? ok() : no(dropped);
  };

  const answer = async (
    call: string,
    query: URLSearchParams,
    body: Record<string, unknown> | undefined,
  ): Promise<object | undefined> => {
    const text = query.get("id") ?? "";
    const id = Number(text === "" ? 0 : text);
    if (!Number.isInteger(id)) return no("strconv.Atoi: parsing: invalid syntax", 400);
    switch (call) {
      case "GET list": {
        const sorted = [...rows.values()].sort((a, b) =>
          a.order === b.order || family === "alist-3.25" ? a.id - b.id : a.order - b.order,
        );
        const details = family === "openlist" ? { mount_details: null } : {};
        const content = sorted.map((row) => ({ ...row, ...details }));
        return ok({ content, total: content.length });
      }
      case "GET get": {
        const row = firstOr(id);
        return row === undefined ? no("record not found") : ok(row);
      }
      case "POST create":
      case "POST update": {
        if (
          body === undefined ||
          typeof body["mount_path"] !== "string" ||
          body["mount_path"] === ""
        )
          return no("Key: 'MountPath' Error: required", 400);
        if (typeof (body["addition"] ?? "") !== "string")
          return no("json: cannot unmarshal object into field addition of type string", 400);
        return call === "POST create" ? create(body) : update(body);
      }
      case "POST enable":
        return enable(id);
      case "POST disable":
        return disable(id);
      case "POST delete":
        return remove(id);
      default:
        return undefined;
    }
  };
  /** Mounts below a folder are listed also when the mount of the folder fails. */
  const listFolder = (path: string): object => {
    const base = path === "/" ? "/" : `${path}/`;
    const below = [...live.keys()]
      .filter((each) => each !== path && each.startsWith(base))
      .map((each) => `${each.slice(base.length).split("/")[0]}/`);
    const isMounted = [...live.keys()].some((each) => `${path}/`.startsWith(`${each}/`));
    const found = site.folders.get(path) ?? [];
    const error = !isMounted
      ? `failed get storage: storage not found; rawPath: ${path}`
      : typeof found === "string"
        ? `failed get objs: failed to list objs: ${found}`
        : "";
    if (error !== "" && below.length === 0) return no(error);
    const own = typeof found === "string" ? [] : found;
    const names = [...new Set([...below, ...own])];
    const content = names.map((name) => ({
      name: name.replace(/\/$/, ""),
      is_dir: name.endsWith("/"),
    }));
    return ok({ content: content.length === 0 ? null : content, total: names.length });
  };
  let isLoading = false;
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? "/", "http://site");
    const call = `${request.method} ${url.pathname}`;
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    const whole = Buffer.concat(parts).toString("utf8");
    const body = whole === "" ? undefined : (JSON.parse(whole) as Record<string, unknown>);
    site.calls.push({ call, query: url.search, body });
    await site.hold?.(call);
    if (isLoading && family === "openlist") return;
    const reply = isLoading
      ? no("Loading storage, please wait")
      : request.headers.authorization !== token
        ? no("token is invalidated", 401)
        : url.pathname === "/api/fs/list"
          ? listFolder(String(body?.["path"] ?? ""))
          : await answer(
              `${request.method} ${url.pathname.replace("/api/admin/storage/", "")}`,
              url.searchParams,
              body,
            );
    if (reply === undefined) return void response.writeHead(404).end();
    response
      .writeHead(200, { "content-type": "application/json; charset=utf-8" })
      .end(JSON.stringify(reply));
  };
  const serve: Storages["serve"] = (request, response) => {
    handle(request, response).catch(() => response.destroy());
  };
  const listen = (): Promise<void> => {
    const made = createServer(serve);
    made.keepAliveTimeout = 0;
    made.on("connection", (socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    });
    server = made;
    return new Promise((resolve, reject) => {
      made.once("error", reject).listen(port, "127.0.0.1", () => {
        port = (made.address() as AddressInfo).port;
        resolve();
      });
    });
  };
  const stop = async (): Promise<void> => {
    const running = server;
    server = undefined;
    // The memory is lost; drivers that are starting store nothing.
    live = new Map();
    for (const socket of sockets) socket.destroy();
    if (running) await new Promise((resolve) => running.close(resolve));
  };
  const start = async (): Promise<void> => {
    isLoading = true;
    await listen();
    for (const row of [...rows.values()].filter(({ disabled }) => !disabled))
      await init({ ...row }, fresh(row));
    isLoading = false;
  };
  const site: Storages = {
    get url() {
      return `http://127.0.0.1:${port}`;
    },
    get live() {
      return live;
    },
    serve,
    token,
    rows,
    providers: new Map(),
    folders: new Map(),
    dropFails: new Set(),
    calls: [],
    hold: undefined,
    mounts: new Map(),
    writeBack: (path, changes) => {
      const one = live.get(path);
      if (one === undefined) throw new Error(`nothing is mounted at ${path}`);
      Object.assign(one.addition, changes);
      save(one);
    },
    edit: (path, changes) => {
      const row = site.row(path);
      if (row === undefined) throw new Error(`no row at ${path}`);
      rows.set(row.id, { ...row, ...changes });
    },
    addition: (path) => JSON.parse(site.row(path)?.addition ?? "{}") as Record<string, unknown>,
    row: (path) => [...rows.values()].find((row) => row.mount_path === path),
    count: (call) => site.calls.filter((each) => each.call === call).length,
    stop,
    start,
    restart: async () => {
      await stop();
      await start();
    },
  };
  await listen();
  return site;
}

const UNIQUE = "failed create storage in database: UNIQUE constraint failed: x_storages.mount_path";
