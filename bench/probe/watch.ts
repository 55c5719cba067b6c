import { type ClientHttp2Session, connect } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { framed, pathOf } from "../call.ts";
import { type Experiment, limited, verdictOf } from "../experiment.ts";
import { callAdmin, type Mooring, startMooring } from "../mooring.ts";
import { cpuMicros, residentBytes } from "../proc.ts";
import { count, decimal } from "../report.ts";
import { median } from "../statistics.ts";

const STREAMS = 10_000;
const CONNECTIONS = 100;

/** Delays of one change, in milliseconds after it was sent. */
interface Arrival {
  /** Until the save was acknowledged. */
  readonly acknowledged: number;
  /** Until half of the streams had received it. */
  readonly half: number;
  /** Until the last stream had received it. */
  readonly last: number;
}

/** Cost of sending a change to very many clients. */
export const watch: Experiment = {
  name: "watch",
  title: "gRPC WatchPublicSettings by many clients",
  needs: [],
  measure: async (lab) => {
    const mooring = await startMooring(lab);
    const { pid } = mooring.server;
    await sleep(1_000);
    const before = residentBytes(pid);
    const streams = openStreams(mooring.port);
    await streams.receive("");
    await sleep(1_000);
    const memory = residentBytes(pid) - before;
    await change(mooring, streams, "warm");
    const cpu = cpuMicros(pid);
    const arrivals: Arrival[] = [];
    for (let time = 0; time < lab.plan.times; time += 1) {
      arrivals.push(await change(mooring, streams, `change ${time} of this run`));
      await sleep(100);
    }
    const perDelivery = (cpuMicros(pid) - cpu) / lab.plan.times / STREAMS;
    streams.close();
    const middle = (member: keyof Arrival) => decimal(median(arrivals.map((one) => one[member])));
    const last = arrivals.map((arrival) => arrival.last);
    return {
      load: `Node's HTTP/2 client in one process, ${count(STREAMS)} streams on ${CONNECTIONS} connections`,
      columns: ["", "acknowledged ms", "half have it, ms", "last has it, ms"],
      rows: [["a change", middle("acknowledged"), middle("half"), middle("last")]],
      verdicts: [
        limited(`memory for ${count(STREAMS)} streams`, memory / 1e6, " MB", 200),
        limited("CPU of the server for each delivery", perDelivery, " µs", 25),
        verdictOf("one change reaches the last stream", last, " ms", { atMost: 400 }),
      ],
    };
  },
};

/** Saves a value. @returns when it was acknowledged and received. */
async function change(mooring: Mooring, streams: Streams, value: string): Promise<Arrival> {
  const received = streams.receive(value);
  const sent = performance.now();
  await callAdmin(mooring, "/api/admin/setting/save", [{ key: "announcement", value }]);
  const acknowledged = performance.now() - sent;
  const times = (await received).map((time) => time - sent);
  return { acknowledged, half: median(times), last: Math.max(...times) };
}

interface Streams {
  /** Resolves with the time at which each stream has received a message with a text. */
  receive(text: string): Promise<readonly number[]>;
  close(): void;
}

/** Opens all streams, several on a connection. */
function openStreams(port: number): Streams {
  let expected = "";
  let times: number[] = [];
  let received = Promise.withResolvers<readonly number[]>();
  const headers = {
    ":method": "POST",
    ":path": pathOf(PublicService.method.watchPublicSettings),
    "content-type": "application/grpc",
    te: "trailers",
  };
  const open = (session: ClientHttp2Session): void => {
    const stream = session.request(headers);
    let had: string | undefined;
    stream.on("error", (error) => received.reject(error));
    stream.on("data", (chunk: Buffer) => {
      // Bookmarks do not have the text.
      if (had === expected || !chunk.includes(expected)) return;
      had = expected;
      times.push(performance.now());
      if (times.length === STREAMS) received.resolve(times);
    });
    stream.end(framed(new Uint8Array()));
  };
  const sessions = Array.from({ length: CONNECTIONS }, () => {
    const session = connect(`http://127.0.0.1:${port}`);
    session.on("error", (error) => received.reject(error));
    for (let at = 0; at < STREAMS / CONNECTIONS; at += 1) open(session);
    return session;
  });
  return {
    receive: (text) => {
      expected = text;
      times = [];
      received = Promise.withResolvers();
      return received.promise;
    },
    close: () => {
      for (const session of sessions) session.destroy();
    },
  };
}
