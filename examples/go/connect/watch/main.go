// Watches the settings; after a broken stream it resumes without missing a change.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"connectrpc.com/connect"

	mooring "harbour/gen/mooring/v1"
	"harbour/gen/mooring/v1/mooringv1connect"
)

func main() {
	settings := mooringv1connect.NewSettingServiceClient(http.DefaultClient, os.Getenv("MOORING_URL"))
	for after := (*string)(nil); ; time.Sleep(time.Second) {
		request := connect.NewRequest(&mooring.WatchSettingsRequest{AfterEtag: after})
		request.Header().Set("Authorization", os.Getenv("MOORING_TOKEN"))
		stream, err := settings.WatchSettings(context.Background(), request)
		for err == nil && stream.Receive() {
			after = &stream.Msg().Etag
			for _, change := range stream.Msg().GetChange().GetChanges() {
				fmt.Println("changed at revision:", stream.Msg().Revision, change.Key)
			}
		}
		if err == nil {
			err = stream.Err()
		}
		switch connect.CodeOf(err) {
		case connect.CodeOutOfRange:
			after = nil // The history does not have the revision any more: begin with all settings.
		case connect.CodeUnauthenticated, connect.CodePermissionDenied:
			log.Fatal(err)
		}
	}
}
