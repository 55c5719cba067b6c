import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { PublicService } from "../../../gen/mooring/v1/public_service_pb.js";
import type { Interceptor } from "../method.ts";
import { checkInterceptor } from "./check.ts";

/** Methods that answer as soon as the process accepts connections. */
const early: ReadonlySet<DescMethod> = new Set<DescMethod>([PublicService.method.ping]);

/** Answers UNAVAILABLE until the program has started. */
export function readyInterceptor(isReady: () => boolean): Interceptor {
  const check = (): void => {
    if (!isReady())
      throw new ConnectError("the service is starting; try again in a moment", Code.Unavailable);
  };
  return checkInterceptor((desc) => (early.has(desc) ? undefined : check));
}
