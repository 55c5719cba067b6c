import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { IncidentSubject as SubjectProto } from "../../../gen/mooring/v1/incident_pb.js";
import {
  type IncidentService as IncidentServiceDesc,
  ListDaysResponseSchema,
} from "../../../gen/mooring/v1/incident_service_pb.js";
import { invalid } from "../../messages/error.ts";
import type { SayIn } from "../../messages/localize.ts";
import { message } from "../../messages/message.ts";
import { pageLimit } from "../../messages/page.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import { subjectOf } from "../message.ts";
import { stripPlace, stripToken, stripToProto } from "./message.ts";
import type { DayService } from "./service.ts";

/** Data of the messages of days. */
export interface DaySource {
  readonly days: DayService;
  /** Names of sites, with those that another process has just created. */
  readSites(): Promise<SiteNames>;
}

/** Maximum number of strips of a page: a strip is about 3 kB as JSON. */
const MAX_STRIPS = 200;

/** The method of IncidentService that lists days of sites and mounts. */
export function daysImpl(
  { days, readSites }: DaySource,
  sayIn: SayIn,
): Pick<ServiceImpl<typeof IncidentServiceDesc>, "listDays"> {
  return {
    listDays: async ({ site, mountPath, subject, failed, pageSize, pageToken }, context) => {
      const limit = pageLimit(pageSize, { most: MAX_STRIPS });
      const found = await days.list(
        {
          siteId: site === "" ? undefined : (await readSites()).named(site).id,
          path: mountPath || undefined,
          subject: stripSubject(subject),
          failed,
          after: stripPlace(pageToken),
          limit: limit + 1,
        },
        context.signal,
      );
      const page = found.slice(0, limit);
      const last = page.at(-1);
      const say = sayIn(context);
      return create(ListDaysResponseSchema, {
        strips: page.map((strip) => stripToProto(strip, say)),
        nextPageToken: found.length > limit && last !== undefined ? stripToken(last) : "",
      });
    },
  };
}

/** Kind of strips. @throws INVALID_ARGUMENT: tokens and backups have none. */
function stripSubject(value: SubjectProto): "site" | "mount" | undefined {
  const subject = subjectOf(value);
  if (subject === undefined || subject === "site" || subject === "mount") return subject;
  throw invalid([{ field: "subject", description: message("SUBJECT_WITHOUT_DAYS") }]);
}
