import { create, type Message, type MessageShape } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { type SettingService as Contract } from "../../gen/mooring/v1/setting_service_pb.js";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import { toConnectError } from "../rpc/error.ts";
import { settingHandlers } from "../rpc/handler/setting.ts";
import type { Call, Door } from "../rpc/method.ts";
import { CallFailure, type Caller } from "./caller.ts";
import { usage } from "./failure.ts";
import type { OfflineSettings } from "./world.ts";

/** What the history says of a change that a command makes without a service. */
const ORIGIN = { actor: "cli", door: "cli" } as const;

/** Calls the service's own handlers in this process, on a database that was opened here. */
export function createOfflineCaller({ settings, close }: OfflineSettings): Caller {
  const handlers = settingHandlers(() => settings);
  return {
    unary: async (method, request) => {
      const handler = handlers[method.localName as keyof typeof Contract.method] as Handle;
      try {
        const reply = await handler(create(method.input, request), offlineCall());
        // The handler of a method gives that method's reply.
        return reply as MessageShape<typeof method.output>;
      } catch (error) {
        throw toFailure(toConnectError(error));
      }
    },
    stream: () => {
      throw usage("--database has nothing to watch: call the service that runs on it");
    },
    close,
  };
}

type Handle = (request: Message, call: Call) => Message | Promise<Message>;

function offlineCall(): Call {
  return {
    ...ORIGIN,
    door: ORIGIN.door as string as Door,
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
