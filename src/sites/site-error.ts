import { Code } from "@connectrpc/connect";
import { ServiceError, unavailable } from "../messages/error.ts";
import { SiteFailure } from "../sync/failure.ts";

/** Converts the failure of a site to an error for clients. */
export async function mapSiteFailure<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof SiteFailure ? siteError(error) : error;
  }
}

/** Converts a failed call to a site to an error for the client. */
export function siteError(failure: SiteFailure): ServiceError {
  const { kind, text } = failure;
  return kind === "unreachable" || kind === "silent" || kind === "loading"
    ? unavailable(text, failure)
    : new ServiceError(Code.FailedPrecondition, text, { cause: failure });
}
