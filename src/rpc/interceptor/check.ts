import type { DescMethod } from "@bufbuild/protobuf";
import type { Call, Interceptor } from "../method.ts";

/** Lets a call pass or throws. A promise only where it has to wait. */
export type Check = (call: Call) => void | Promise<void>;

/**
 * An interceptor that only looks at calls before they are made.
 *
 * @param checkFor the check of a method, or undefined for a method that needs none.
 */
export function checkInterceptor(checkFor: (desc: DescMethod) => Check | undefined): Interceptor {
  return {
    unary: (next, desc) => {
      const check = checkFor(desc);
      if (check === undefined) return next;
      return (request, call) => {
        const waiting = check(call);
        return waiting === undefined
          ? next(request, call)
          : waiting.then(() => next(request, call));
      };
    },
    serverStreaming: (next, desc) => {
      const check = checkFor(desc);
      if (check === undefined) return next;
      return (request, call) => {
        const waiting = check(call);
        return waiting === undefined
          ? next(request, call)
          : afterwards(waiting, () => next(request, call));
      };
    },
  };
}

async function* afterwards<T>(waiting: Promise<void>, next: () => AsyncIterable<T>) {
  await waiting;
  yield* next();
}
