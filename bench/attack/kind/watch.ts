// Many streams of one rpc, opened at once by one token that has only its scopes.
import { create, type DescMethod } from "@bufbuild/protobuf";
import { callAdmin } from "../../mooring.ts";
import { openSession, send, TRANSPORTS, wireOf } from "../request/send.ts";
import { createToken } from "../request/token.ts";
import { type Attack, add, mountOf, pause, type Tally } from "../target.ts";
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
    const save = (mounts: readonly object[]) =>
      callAdmin(target, "/api/admin/mount/save", { mounts });
    begin("store mounts and incidents");
    for (let at = 0; at < MOUNTS.count; at += MOUNTS.each)
      await save(Array.from({ length: MOUNTS.each }, (_, each) => mount(at + each)));
    const rows = Array.from({ length: INCIDENTS }, (_, at) => failingRow(at));
    const site = await addSite(target, { mounts: () => rows });
    await site.isRead(signal);
    const token = await createToken(target, method);
    const wires = TRANSPORTS.map((one) => wireOf(method, create(method.input), one, token));
    for (let round = 0; !signal.aborted; round += 1) {
      begin(`${method.name}, round ${round + 1}`);
      const session = openSession(target.port);
      for (let at = 0; at < STREAMS; at += wires.length)
        for (const wire of wires) send(session, wire).resume();
      add(tally, "streams", STREAMS);
      await save([{ ...mount(round % MOUNTS.count), disabled: round % 2 === 0 }]);
      await pause(ROUND, signal);
      session.destroy();
      add(tally, "rounds");
    }
    site.close();
    return tally;
  };
}

function mount(at: number): object {
  return mountOf("watched", at, MOUNTS.bytes);
}
