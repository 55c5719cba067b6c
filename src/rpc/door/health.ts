import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import {
  HealthCheckResponseSchema,
  Health as HealthDesc,
  HealthListResponseSchema,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../gen/health/v1/health_pb.js";
import { ServiceError } from "../../service/error.ts";
import { toConnectError } from "../error.ts";
import { bindService, type Method } from "../method.ts";

/** The standard health service, grpc.health.v1. It needs no token. */
export interface Health {
  /** For the doors, like the methods of the contract. */
  readonly methods: readonly Method[];
  /** Of all services at once. Starts as NOT_SERVING. */
  set(status: "SERVING" | "NOT_SERVING"): void;
  /** Ends every Watch, once its readers know the last status. */
  close(): void;
}

/**
 * Makes the health service (gRPC health checking protocol).
 *
 * @param services names that may be asked for besides the empty one, the whole server.
 */
export function createHealth(services: readonly string[]): Health {
  const names = ["", ...services];
  let status = Status.NOT_SERVING;
  let closed = false;
  const waiting = new Set<() => void>();
  const wake = (): void => {
    const woken = [...waiting];
    waiting.clear();
    for (const resume of woken) resume();
  };
  const next = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const resume = (): void => {
        waiting.delete(resume);
        signal.removeEventListener("abort", resume);
        resolve();
      };
      waiting.add(resume);
      signal.addEventListener("abort", resume);
    });
  const reply = (service: string) =>
    create(HealthCheckResponseSchema, {
      status: names.includes(service) ? status : Status.SERVICE_UNKNOWN,
    });

  const methods = bindService(
    HealthDesc,
    {
      check: ({ service }) => {
        if (!names.includes(service)) throw toConnectError(unknownService(service));
        return reply(service);
      },
      list: () =>
        create(HealthListResponseSchema, {
          statuses: Object.fromEntries(names.map((name) => [name, reply(name)])),
        }),
      async *watch({ service }, { signal }) {
        let sent: Status | undefined;
        while (!signal.aborted) {
          const current = reply(service);
          if (current.status !== sent) {
            sent = current.status;
            yield current;
          } else if (closed) return;
          else await next(signal);
        }
      },
    },
    [],
  );
  return {
    methods,
    set: (to) => {
      status = Status[to];
      wake();
    },
    close: () => {
      closed = true;
      wake();
    },
  };
}

function unknownService(service: string): ServiceError {
  return new ServiceError(Code.NotFound, `there is no service "${service.slice(0, 255)}" here`);
}
