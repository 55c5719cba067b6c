import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AdoptMountsResponseSchema,
  CompareMountsResponseSchema,
  type MountService as MountServiceDesc,
  SyncMountsResponseSchema,
  TestMountsResponseSchema,
} from "../../gen/mooring/v1/mount_service_pb.js";
import { whileAllowed } from "../access/grant.ts";
import { originOf } from "../audit/entry.ts";
import { callerOf } from "../records/caller.ts";
import { statusToProto, testToProto } from "./message.ts";
import type { MountService } from "./mount-service.ts";
import type { MountReply } from "./reply.ts";

/** Methods of MountService that call the servers of sites. */
export function syncImpl(
  mounts: MountService,
  { sayIn, nameIn, resultsOf, changeReply }: MountReply,
): Pick<
  ServiceImpl<typeof MountServiceDesc>,
  "compareMounts" | "syncMounts" | "testMounts" | "adoptMounts"
> {
  return {
    compareMounts: async ({ site }, context) => {
      const results = await whileAllowed(context, () => mounts.compare(site, context.signal));
      return create(CompareMountsResponseSchema, { results: resultsOf(results, context) });
    },
    syncMounts: async ({ site, names: asked }, context) => {
      const say = sayIn(context);
      const names = asked.map((name) => nameIn(context, name));
      const statuses = await whileAllowed(context, () =>
        mounts.sync(site, names, originOf(context), context.signal),
      );
      return create(SyncMountsResponseSchema, {
        status: statuses.map((status) => statusToProto(status, say)),
      });
    },
    testMounts: async ({ names: asked, site }, context) => {
      const say = sayIn(context);
      const names = asked.map((name) => nameIn(context, name));
      const tests = await whileAllowed(context, () =>
        mounts.test(names, site, callerOf(context), context.signal),
      );
      return create(TestMountsResponseSchema, {
        tests: tests.map((test) => testToProto(test, say)),
      });
    },
    adoptMounts: async ({ site, names, dryRun, reason }, context) => {
      const saved = await whileAllowed(context, (renew) =>
        mounts.adopt(site, names, { ...callerOf(context, reason), renew }, { dryRun }),
      );
      return create(AdoptMountsResponseSchema, changeReply(saved, context, { dryRun }));
    },
  };
}
