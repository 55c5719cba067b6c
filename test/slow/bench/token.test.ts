import { create } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it } from "vitest";
import { callMethod } from "../../../bench/grpc-call.ts";
import { quickPlan } from "../../../bench/lab.ts";
import { missingPrograms } from "../../../bench/program.ts";
import { createStage, type Stage } from "../../../bench/stage.ts";
import { startWithTokens } from "../../../bench/token.ts";
import {
  AccessService,
  ListTokensRequestSchema,
} from "../../../gen/mooring/v1/access_service_pb.js";
import { builtProgram } from "../../built.ts";

const { PATH = "" } = process.env;
const taskset = missingPrograms(PATH).includes("taskset");
const skipReason = taskset ? " (skipped: taskset is not installed)" : "";

describe.skipIf(taskset)(`a service with many tokens${skipReason}`, () => {
  let stage: Stage | undefined;
  afterEach(() => stage?.close());

  it("has so many that hold, and the one that is used is let in", async () => {
    stage = createStage({ PATH });
    const lab = {
      ...{ stage, server: await builtProgram(), nodeFlags: [], plan: quickPlan },
      ...{ quick: true, everything: false, etcd: false },
    };
    const { mooring, token } = await startWithTokens(lab, 40);
    const list = (by: string) =>
      callMethod(
        AccessService.method.listTokens,
        create(ListTokensRequestSchema, { pageSize: 100 }),
        { ...mooring, token: by },
      );
    const { tokens } = await list(mooring.token);
    expect(tokens).toHaveLength(40);
    expect(new Set(tokens.map(({ id }) => id)).size).toBe(40);
    await expect(list(token)).rejects.toThrow("scope");
  });
});
