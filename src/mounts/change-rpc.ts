import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  CopyMountResponseSchema,
  DeleteMountsResponseSchema,
  type MountService as MountServiceDesc,
  RenameMountResponseSchema,
  ReplaceCredentialResponseSchema,
  SaveMountsResponseSchema,
} from "../../gen/mooring/v1/mount_service_pb.js";
import { toNfc } from "../nfc.ts";
import { callerOf } from "../records/caller.ts";
import { inputFromProto } from "./message.ts";
import type { MountService } from "./mount-service.ts";
import type { MountReply } from "./reply.ts";

/** Methods of MountService that change mounts. */
export function changeImpl(
  mounts: MountService,
  { showIn, nameIn, noteDryRun, changeReply }: MountReply,
): Pick<
  ServiceImpl<typeof MountServiceDesc>,
  "saveMounts" | "replaceCredential" | "copyMount" | "renameMount" | "deleteMounts"
> {
  return {
    saveMounts: async (request, context) => {
      const { dryRun, reason, allowSharedCredential: allowShared } = request;
      const inputs = request.mounts
        .map(inputFromProto)
        .map((input) => ({ ...input, name: nameIn(context, input.name) }));
      const saved = await mounts.save(inputs, callerOf(context, reason), { dryRun, allowShared });
      const names = inputs.map(({ name }) => name);
      if (dryRun) noteDryRun(context, names);
      return create(SaveMountsResponseSchema, changeReply(saved, context, { dryRun }));
    },
    replaceCredential: async ({ name, item, site, value, dryRun, reason }, context) => {
      const at = { name: nameIn(context, name), item, site };
      const saved = await mounts.replace(at, value, callerOf(context, reason), { dryRun });
      return create(ReplaceCredentialResponseSchema, changeReply(saved, context, { dryRun }));
    },
    copyMount: async ({ name, newName, mountPath, reason, allowSharedCredential }, context) => {
      const mount = await mounts.copy(
        nameIn(context, name),
        { name: toNfc(newName), path: mountPath },
        callerOf(context, reason),
        { allowShared: allowSharedCredential },
      );
      return create(CopyMountResponseSchema, { mount: showIn(context)(mount) });
    },
    renameMount: async ({ name, newName, reason }, context) => {
      const mount = await mounts.rename(
        nameIn(context, name),
        toNfc(newName),
        callerOf(context, reason),
      );
      return create(RenameMountResponseSchema, { mount: showIn(context)(mount) });
    },
    deleteMounts: async ({ names: asked, reason, dryRun }, context) => {
      const names = asked.map((name) => nameIn(context, name));
      const before = mounts.saved(new Set(names));
      const saved = await mounts.delete(names, callerOf(context, reason), { dryRun });
      return create(DeleteMountsResponseSchema, changeReply(saved, context, { dryRun, before }));
    },
  };
}
