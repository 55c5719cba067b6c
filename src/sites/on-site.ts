import { SiteFailure } from "../sync/failure.ts";
import { siteError } from "./site-error.ts";

/** Maps the failure of a call to a site: UNAVAILABLE or FAILED_PRECONDITION. */
export async function onSite<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof SiteFailure ? siteError(error) : error;
  }
}
