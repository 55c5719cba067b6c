// Many streams of one rpc, opened at once by one token that has only its scopes.
import { create, type DescMethod } from "@bufbuild/protobuf";
import { openSession, send, TRANSPORTS, wireOf } from "../request/send.ts";
import { type Attack, add, pause, type Tally } from "../target.ts";
import { createTokens, post, scopesOf } from "./request.ts";
import { addSite, failingRow } from "./site.ts";

const STREAMS = 100;
/** Mounts that the streams show, and those of a request. */
const MOUNTS = { count: 2_000, each: 500, bytes: 1_000 };
/** Failing mounts of a site, which are incidents. */
const INCIDENTS = 1_000;
/** Time between the rounds of the streams, in milliseconds. */
const ROUND = 4_000;

/** Opens a hundred streams of a method again and again, and saves a mount while they are open. */
export function manyStreams(method: DescMethod): Attack {
  return async (target, signal, begin) => {
    const tally: Tally = { streams: 0, rounds: 0 };
    begin("store mounts and incidents");
    for (let at = 0; at < MOUNTS.count; at += MOUNTS.each)
      await post(target, "/api/admin/mount/save", {
        mounts: Array.from({ length: MOUNTS.each }, (_, each) => mount(at + each)),
      });
    const rows = Array.from({ length: INCIDENTS }, (_, at) => failingRow(at));
    const site = await addSite(target, { mounts: () => rows });
    await site.isRead(signal);
    const token = await createTokens(target)(scopesOf(method));
    for (let round = 0; !signal.aborted; round += 1) {
      begin(`${method.name}, round ${round + 1}`);
      const session = openSession(target.port);
      for (let at = 0; at < STREAMS; at += 1) {
        const transport = TRANSPORTS[at % TRANSPORTS.length] ?? "grpc";
        const wire = wireOf(method, create(method.input), transport, token);
        if (wire === undefined) continue;
        send(session, wire).resume();
        add(tally, "streams");
      }
      await post(target, "/api/admin/mount/save", {
        mounts: [{ ...mount(round % MOUNTS.count), disabled: round % 2 === 0 }],
      });
      await pause(ROUND, signal);
      session.destroy();
      add(tally, "rounds");
    }
    site.close();
    return tally;
  };
}

function mount(at: number): object {
  return {
    name: `watched_${at}`,
    mount_path: `/watched/${at}`,
    driver: "Local",
    config: { root_folder_path: "/" },
    members: { remark: "v".repeat(MOUNTS.bytes) },
  };
}
