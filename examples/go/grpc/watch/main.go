// Watches the settings; after a broken stream it resumes without missing a change.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	mooring "harbour/gen/mooring/v1"
)

func main() {
	conn, err := grpc.NewClient(os.Getenv("MOORING_ADDRESS"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", os.Getenv("MOORING_TOKEN"))
	for after := (*string)(nil); ; time.Sleep(time.Second) {
		stream, err := mooring.NewSettingServiceClient(conn).WatchSettings(ctx, &mooring.WatchSettingsRequest{AfterEtag: after})
		for event := new(mooring.WatchSettingsResponse); err == nil; {
			if event, err = stream.Recv(); err == nil {
				after = &event.Etag
				for _, change := range event.GetChange().GetChanges() {
					fmt.Println("changed at revision:", event.Revision, change.Key)
				}
			}
		}
		if code := status.Code(err); code == codes.OutOfRange {
			after = nil // The history does not have the revision any more: begin with all settings.
		} else if code != codes.Unavailable {
			log.Fatal(err)
		}
	}
}
