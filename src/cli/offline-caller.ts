import { create, type Message, type MessageShape } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import { toConnectError } from "../rpc/error.ts";
import { backupHandlers } from "../rpc/handler/backup.ts";
import { historyHandlers } from "../rpc/handler/history.ts";
import { settingHandlers } from "../rpc/handler/setting.ts";
import type { Call } from "../rpc/method.ts";
import { type Caller, CallFailure } from "./caller.ts";
import { usage } from "./failure.ts";
import type { OfflineSettings } from "./world.ts";

/** Calls the service's own handlers in this process, on a database that was opened here. */
export function createOfflineCaller(offline: OfflineSettings): Caller {
  const handlers: Readonly<Record<string, unknown>> = {
    ...settingHandlers(() => offline.settings),
    ...historyHandlers(() => offline.history),
    ...backupHandlers(() => offline.backup),
  };
  return {
    unary: async (method, request) => {
      const handle = handlers[method.localName] as Handle;
      try {
        const reply = await handle(create(method.input, request), offlineCall());
        // The handler of a method gives that method's reply.
        return reply as MessageShape<typeof method.output>;
      } catch (error) {
        throw toFailure(toConnectError(error));
      }
    },
    stream: () => {
      throw usage("--database has nothing to watch: call the service that runs on it");
    },
    close: () => offline.close(),
  };
}

type Handle = (request: Message, call: Call) => Message | Promise<Message>;

/** What the history says of a change that a command makes without a service. */
function offlineCall(): Call {
  return {
    actor: "cli",
    door: "cli",
    header: { get: () => undefined },
    signal: new AbortController().signal,
    requestId: "",
    peer: "",
  };
}

function toFailure(error: ConnectError): CallFailure {
  const violations = error
    .findDetails(BadRequestSchema)
    .flatMap((detail) => detail.fieldViolations.map(({ description }) => description));
  // A failure that no rule foresaw is masked for clients; here there is no log to find it in.
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return new CallFailure({
    code: error.code as number as CallFailure["code"],
    message: `${error.rawMessage}${cause}`,
    violations,
    answered: true,
  });
}
