import { Code } from "@connectrpc/connect";
import { ServiceError, unavailable } from "../messages/error.ts";
import { waitUnlessAborted } from "../pause.ts";
import { SiteFailure } from "../sync/failure.ts";

/**
 * Waits for work on a site.
 *
 * @param signal ends the wait; the work goes on, and checks the signal itself before it writes.
 * @throws UNAVAILABLE or FAILED_PRECONDITION for a SiteFailure; the reason of the signal.
 */
export async function onSite<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await waitUnlessAborted(work, signal);
  } catch (error) {
    throw error instanceof SiteFailure ? siteError(error) : error;
  }
}

/** Converts a failed call to a site to an error for the client. */
function siteError(failure: SiteFailure): ServiceError {
  const { kind, text } = failure;
  return kind === "unreachable" || kind === "silent" || kind === "loading"
    ? unavailable(text, failure)
    : new ServiceError(Code.FailedPrecondition, text, { cause: failure });
}
